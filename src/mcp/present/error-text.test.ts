import { expect, test } from 'vitest';
import { errorText } from './error-text.ts';

const LINES = Array.from({ length: 1_000 }, (_, at) => `line ${at} of the message`);

test('a message has as many characters as the output, is cut at line ends in the middle, and counted', () => {
  const traceback = ['Traceback', `E: ${LINES[0]}`, `${LINES[1]!.slice(0, 3)}…`, 'a note'];
  const text = errorText({ kind: 'raised', name: 'E', message: LINES.join('\n'), traceback }, 4_000);
  expect(text).toMatch(
    /^Traceback\nE: line 0 of the message\nline 1 of the message\n[\s\S]*\n… 8\d\d lines \([\d,]+ characters\) omitted …\nline 9\d\d of the message\n[\s\S]*\nline 999 of the message\na note$/,
  );
  expect(text.length).toBeGreaterThan(3_500);
  expect(text.length).toBeLessThan(4_200);
});

test('a message that fits is whole', () => {
  const message = LINES.slice(0, 100).join('\n');
  const text = errorText({ kind: 'raised', name: 'E', message, traceback: ['Traceback', 'E: line 0…'] }, 4_000);
  expect(text).toBe(`Traceback\nE: ${message}`);
});
