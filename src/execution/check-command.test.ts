import { describe, expect, test } from 'vitest';
import { checkCommand, commandLine } from './check-command.ts';

test('a line and words are different programs; a terminal implies input', () => {
  expect(checkCommand('ls | wc', {})).toEqual({
    program: { line: 'ls | wc' },
    cwd: '.',
    environment: {},
    stdin: false,
  });
  expect(checkCommand(['ls', '-l'], { cwd: 'a', stdin: true }).program).toEqual({ argv: ['ls', '-l'] });
  expect(checkCommand('top', { terminal: { columns: 80, rows: 24 } })).toMatchObject({
    stdin: true,
    terminal: { columns: 80, rows: 24 },
  });
});

describe('an invalid argument is named', () => {
  test.each([
    ['command', '', {}],
    ['command', [], {}],
    ['command', 'a\0b', {}],
    ['command', ['a', '\0'], {}],
    ['command', 'x'.repeat(100_001), {}],
    ['cwd', 'a', { cwd: '' }],
    ['cwd', 'a', { cwd: '/\0' }],
    ['cwd', 'a', { cwd: 'x'.repeat(4_097) }],
    ['environment', 'a', { environment: { '1X': '' } }],
    ['environment.X', 'a', { environment: { X: '\0' } }],
    ['environment.X', 'a', { environment: { X: 'x'.repeat(65_537) } }],
    ['columns', 'a', { terminal: { columns: 0, rows: 1 } }],
    ['columns', 'a', { terminal: { columns: 1.5, rows: 1 } }],
    ['rows', 'a', { terminal: { columns: 1, rows: 1_001 } }],
  ])('%s', (argument, command, options) => {
    expect(() => checkCommand(command, options)).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message: expect.stringMatching(new RegExp(`^${argument}:`)),
      }),
    );
  });
});

test('words make a line that a shell would take apart again', () => {
  expect(commandLine(['ls', '-l', 'a b', "it's", '$HOME'])).toBe(`ls -l 'a b' 'it'\\''s' '$HOME'`);
  expect(commandLine('a | b')).toBe('a | b');
});
