import { expect, test } from 'vitest';
import { replaceExact } from './replace-exact.ts';

const once = (text: string, old: string, replacement: string) =>
  replaceExact(text, old, replacement, { path: 'f', all: false });

test('a text that is there once is replaced, whatever the replacement holds', () => {
  expect(once('a b c', 'b', '$& $1 \\')).toEqual({ result: 'a $& $1 \\ c', count: 1 });
});

test('one that is there twice is refused, or replaced in all places where that is asked for', () => {
  expect(() => once('b b', 'b', 'x')).toThrow('2 times');
  expect(replaceExact('b b', 'b', 'x', { path: 'f', all: true })).toEqual({ result: 'x x', count: 2 });
});

test('one that is not there is refused; where only spaces differ, that is said', () => {
  expect(() => once('if x:\n    y()', 'if x:\n  y()', '')).toThrow(
    expect.objectContaining({ remedy: expect.stringContaining('other spaces') }),
  );
  expect(() => once('abc', 'xyz', '')).toThrow(
    expect.objectContaining({ remedy: expect.stringContaining('Read the file') }),
  );
});
