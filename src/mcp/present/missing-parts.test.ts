import { expect, it } from 'vitest';
import { type Means, missingPartAdvice } from './missing-parts.ts';

const NOTHING: Means = { hasNetwork: false, maySetNetwork: false, mayInstall: false };
const failed = (stderr: string, { exitCode = 1, ...means }: Partial<Means> & { exitCode?: number } = {}) =>
  missingPartAdvice({ outcome: { kind: 'exited', exitCode }, stdout: '', stderr }, { ...NOTHING, ...means });

const UNRESOLVED = "fatal: unable to access 'https://a.example/': Could not resolve host: a.example";

it.each([
  'ERROR: Could not find a version that satisfies the requirement xgboost (from versions: none)\nERROR: No matching distribution found for xgboost',
  'npm error code EAI_AGAIN\nnpm error syscall getaddrinfo',
  'error: Failed to fetch: `https://index.example/simple/x/`\n  Caused by: dns error',
  'E: Unable to locate package graphviz',
  'bash: line 1: npm: command not found',
  "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
])('says that there is no network and what to do: %s', (line) => {
  expect(failed(line)).toMatch(/no network.*pip list.*docs\/guides\/packages\.md/);
});

it('says how to use the network that there is, where a program ignores the proxy', () => {
  expect(failed(UNRESOLVED, { hasNetwork: true })).toContain('HTTPS_PROXY');
});

it('names only what the model can do: set_network and install_packages where they are offered', () => {
  expect(failed(UNRESOLVED)).not.toMatch(/set_network|install_packages/);
  expect(failed(UNRESOLVED, { maySetNetwork: true })).toContain('set_network opens the hosts');
  expect(failed(UNRESOLVED, { mayInstall: true })).toContain('install_packages');
  expect(failed(UNRESOLVED, { mayInstall: true })).not.toContain('cannot be installed');
  expect(failed("No module named 'xgboost'", { mayInstall: true })).toContain('install_packages');
});

it('leaves the words of our own installer as they are', () => {
  const line =
    'ERROR: the packages cannot be resolved. The resolver said "x was not found in the package registry". Change the names.';
  expect(failed(line, { mayInstall: true })).toBeUndefined();
});

it('says of apt-get that the system cannot be changed', () => {
  const line = 'E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)';
  expect(failed(line, { exitCode: 100, mayInstall: true })).toMatch(/cannot be changed.*docs\/guides\/packages\.md/);
});

it.each([
  ['bash: line 1: cmake: command not found', 'cmake'],
  ['/bin/sh: 1: git: not found', 'git'],
  ['no-such-program: command not found', 'no-such-program'],
])('names the missing program: %s', (line, name) => {
  expect(failed(line, { exitCode: 127 })).toContain(`The program "${name}" is not in this sandbox`);
});

it('names the missing module of a script', () => {
  const line = "ModuleNotFoundError: No module named 'helpers'";
  const what =
    'The Python module "helpers" is not in this sandbox. If it is a file of yours, put it into the workspace first; ';
  expect(failed(line)).toMatch(/; `pip list` shows which packages are there, and the user can add it as docs/);
  expect(failed(line, { mayInstall: true })).toBe(`${what}install_packages installs packages.`);
});

it('says nothing of other failures, nor of a success', () => {
  expect(failed('error: 3 tests failed')).toBeUndefined();
  expect(failed('x: command not found', { exitCode: 0 })).toBeUndefined();
});
