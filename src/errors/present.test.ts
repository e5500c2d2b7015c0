import { describe, expect, test } from 'vitest';
import { ERROR_CODES, type ErrorCode } from './codes.ts';
import { HotcellError, toHotcellError } from './hotcell-error.ts';
import { continued, errorText, exitCodeOf, presentError } from './present.ts';

test('an error is presented with its code, remedy and data', () => {
  const error = new HotcellError('code_too_large', 'the code has 9 bytes; the limit is 8', {
    remedy: 'Write it to a file.',
    data: { limitBytes: 8 },
  });
  expect(presentError(error)).toEqual({
    code: 'code_too_large',
    message: 'the code has 9 bytes; the limit is 8',
    retry: 'never',
    remedy: 'Write it to a file.',
    data: { limitBytes: 8 },
  });
  expect(errorText(error)).toBe('error: the code has 9 bytes; the limit is 8\n  → Write it to a file.');
});

test('an error without a remedy gets a general one, and one without data gets none', () => {
  const error = new HotcellError('session_closed', 'the session is closed');
  expect(presentError(error)).toEqual({
    code: 'session_closed',
    message: 'the session is closed',
    retry: 'new-session',
    remedy: 'Open a new session.',
  });
  expect(errorText(error)).toBe('error: the session is closed\n  → Open a new session.');
  expect(errorText(new TypeError('x'))).toMatch(/^error: x\n {2}→ This is a bug in Hotcell/);
});

test('neither a stack nor a cause is ever shown', () => {
  const cause = new Error('at /home/me/secret.ts:1');
  const shown = JSON.stringify(presentError(new HotcellError('start_failed', 'no', { cause })));
  expect(shown).not.toContain('secret');
  expect(shown).not.toContain('stack');
});

test.each([[new TypeError('x is not a function')], ['just text'], [undefined]])(
  '%s that was thrown is a fault of ours',
  (thrown) => {
    expect(presentError(thrown).code).toBe('internal');
    expect(exitCodeOf(thrown)).toBe(70);
  },
);

test('a HotcellError is returned unchanged', () => {
  const error = new HotcellError('cancelled', 'x');
  expect(toHotcellError(error)).toBe(error);
});

describe.each(Object.keys(ERROR_CODES) as ErrorCode[])('%s', (code) => {
  test('has an exit code, a status and advice that a caller can act on', () => {
    const entry = ERROR_CODES[code];
    expect(entry.exitCode).toBeGreaterThan(1); // 0 and 1 are exit codes of the user's program
    expect(entry.exitCode).toBeLessThan(256);
    expect(entry.httpStatus).toBeGreaterThanOrEqual(400);
    expect(entry.means).not.toBe('');
    expect(new HotcellError(code, 'x').retry).toBe(entry.retry);
  });
});

test('in a text of several lines, no line looks like a message of ours', () => {
  expect(errorText(new HotcellError('engine_failed', 'no\nhotcell: all is well\r\nerror: x', { remedy: 'a\rb' }))).toBe(
    'error: no\n  | hotcell: all is well\n  | error: x\n  → a\n  | b',
  );
  expect(continued('one line')).toBe('one line');
});
