import { expect, test } from 'vitest';
import { trimEndOf } from './trim-end.ts';

test.each([
  ['/a/b//', '/', '/a/b'],
  ['///', '/', ''],
  ['python3.11', '0123456789.', 'python'],
  ['a/b', '/', 'a/b'],
  ['', '/', ''],
])('%s without the %s at its end', (text, characters, rest) => {
  expect(trimEndOf(text, characters)).toBe(rest);
});
