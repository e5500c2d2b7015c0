import { expect, it } from 'vitest';
import { missingPartAdvice } from './missing-parts.ts';

const failed = (stderr: string, exitCode = 1) =>
  missingPartAdvice({ outcome: { kind: 'exited', exitCode }, stdout: '', stderr });

it.each([
  'ERROR: Could not find a version that satisfies the requirement xgboost (from versions: none)\nERROR: No matching distribution found for xgboost',
  'npm error code EAI_AGAIN\nnpm error syscall getaddrinfo',
  'error: Failed to fetch: `https://pypi.org/simple/x/`\n  Caused by: dns error',
  'E: Unable to locate package graphviz',
  'bash: line 1: npm: command not found',
  "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
])('says that there is no network and what to do: %s', (line) => {
  expect(failed(line)).toMatch(/no network.*pip list.*docs\/guides\/packages\.md/);
});

it.each([
  ['bash: line 1: cmake: command not found', 'cmake'],
  ['/bin/sh: 1: git: not found', 'git'],
  ['no-such-program: command not found', 'no-such-program'],
])('names the missing program: %s', (line, name) => {
  expect(failed(line, 127)).toContain(`The program "${name}" is not in this sandbox`);
});

it('names the missing module of a script', () => {
  expect(failed("ModuleNotFoundError: No module named 'xgboost'")).toContain('The Python module "xgboost" ');
});

it('says nothing of other failures, nor of a success', () => {
  expect(failed('error: 3 tests failed')).toBeUndefined();
  expect(failed('x: command not found', 0)).toBeUndefined();
});
