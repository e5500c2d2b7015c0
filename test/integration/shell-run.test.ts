import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shellRun } from '../../src/mcp/shell-run.ts';

const run = (command: string, environment: Record<string, string> = {}, cwd = '/') =>
  spawnSync('sh', ['-c', shellRun({ command, cwd, environment }).code], { encoding: 'utf8' });

test('a command runs in its folder, with its variables, and its exit code is the whole run’s', () => {
  const { stdout, status } = run('pwd; printf %s "$GREETING"; exit 5', { GREETING: 'hello' }, '/usr');
  expect({ stdout, status }).toEqual({ stdout: '/usr\nhello', status: 5 });
});

test('no value of a variable is ever read by a shell', () => {
  fc.assert(
    fc.property(
      fc.string().filter((value) => !value.includes('\0')),
      (value) => {
        expect(run('printf %s "$X"', { X: value }).stdout).toBe(Buffer.from(value).toString());
      },
    ),
    { numRuns: 25 },
  );
});

test('neither is the name of a folder', () => {
  const { status, stderr } = run('echo ran', {}, "/tmp/$(echo x)'; echo broken #");
  expect(status).toBe(1);
  expect(stderr).not.toBe('');
});

test.each([
  ['the command', { command: 'a\0b', cwd: '/', environment: {} }],
  ['the folder', { command: 'a', cwd: '/\0', environment: {} }],
  ['a variable', { command: 'a', cwd: '/', environment: { X: '\0' } }],
])('a NUL in %s is refused', (_, command) => {
  expect(() => shellRun(command)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
});
