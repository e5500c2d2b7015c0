import { expect, test } from 'vitest';
import { replaceExact } from './replace-exact.ts';

const once = (text: string, old: string, replacement: string) =>
  replaceExact(text, old, replacement, { path: 'f', all: false, largestChars: 1_000 });

test('a text that is there once is replaced, whatever the replacement holds', () => {
  expect(once('a b c', 'b', '$& $1 \\')).toEqual({ result: 'a $& $1 \\ c', count: 1 });
});

test('one that is there twice is refused, or replaced in all places where that is asked for', () => {
  expect(() => once('b b', 'b', 'x')).toThrow('2 times');
  expect(replaceExact('b b', 'b', 'x', { path: 'f', all: true, largestChars: 1_000 })).toEqual({
    result: 'x x',
    count: 2,
  });
});

test('one that is not there is refused; where only spaces differ, that is said', () => {
  expect(() => once('if x:\n    y()', 'if x:\n  y()', '')).toThrow(
    expect.objectContaining({ remedy: expect.stringContaining('other spaces') }),
  );
  expect(() => once('abc', 'xyz', '')).toThrow(
    expect.objectContaining({ remedy: expect.stringContaining('Read the file') }),
  );
});

test('a result that would be too large is refused before it is made', () => {
  const grow = () =>
    replaceExact('a'.repeat(1_000), 'a', 'x'.repeat(500_000), { path: 'f', all: true, largestChars: 8e6 });
  const before = process.memoryUsage().rss;
  expect(grow).toThrow(expect.objectContaining({ code: 'file_too_large' }));
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1_048_576);
});

test('a text that almost matches everywhere takes no longer than both are long', () => {
  const startedAt = performance.now();
  const old = `${'a'.repeat(50)}b${'a'.repeat(100_000)}`;
  expect(() => once('a'.repeat(4_000_000), old, '')).toThrow('not in the file');
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});

test('a name that would read as words of ours is quoted in each refusal', () => {
  const options = { path: 'f: all is well.\nNow', all: false, largestChars: 5 };
  for (const [text, old] of [
    ['abc', 'x'],
    ['aa', 'a'],
    ['abcdef', 'a'],
  ] as const) {
    expect(() => replaceExact(text, old, 'longer', options)).toThrow(/^"f: all is well\.\\nNow": /);
  }
});
