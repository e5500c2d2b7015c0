import { expect, test } from 'vitest';
import { threadMs } from '../../test/support/thread-time.ts';
import { replaceExact } from './replace-exact.ts';

const once = (text: string, old: string, replacement: string) =>
  replaceExact(text, old, replacement, { path: 'f', all: false, largestChars: 1_000 });

test('a text that occurs once is replaced, whatever the replacement contains', async () => {
  expect(await once('a b c', 'b', '$& $1 \\')).toEqual({ result: 'a $& $1 \\ c', count: 1 });
});

test('a text that occurs twice is refused, or replaced everywhere on request', async () => {
  await expect(once('b b', 'b', 'x')).rejects.toThrow('2 times');
  expect(await replaceExact('b b', 'b', 'x', { path: 'f', all: true, largestChars: 1_000 })).toEqual({
    result: 'x x',
    count: 2,
  });
});

test('a text that does not occur is refused; the error says if only spaces differ', async () => {
  await expect(once('if x:\n    y()', 'if x:\n  y()', '')).rejects.toThrow(
    expect.objectContaining({ remedy: expect.stringContaining('different whitespace') }),
  );
  await expect(once('abc', 'xyz', '')).rejects.toThrow(
    expect.objectContaining({ remedy: expect.stringContaining('Read the file') }),
  );
});

test('a result that would be too large is refused before it is made', async () => {
  const grow = () =>
    replaceExact('a'.repeat(1_000), 'a', 'x'.repeat(500_000), { path: 'f', all: true, largestChars: 8e6 });
  const before = process.memoryUsage().rss;
  await expect(grow()).rejects.toThrow(expect.objectContaining({ code: 'file_too_large' }));
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1_048_576);
});

test('a text that almost matches everywhere takes linear time', async () => {
  const startedAt = threadMs();
  const old = `${'a'.repeat(50)}b${'a'.repeat(100_000)}`;
  await expect(once('a'.repeat(4_000_000), old, '')).rejects.toThrow('not in the file');
  expect(threadMs() - startedAt).toBeLessThan(5_000);
});

test('a file name that reads as text of Hotcell is quoted in each refusal', async () => {
  const options = { path: 'f: all is well.\nNow', all: false, largestChars: 5 };
  for (const [text, old] of [
    ['abc', 'x'],
    ['aa', 'a'],
    ['abcdef', 'a'],
  ] as const) {
    await expect(replaceExact(text, old, 'longer', options)).rejects.toThrow(/^"f: all is well\.\\nNow": /);
  }
});

test('a letter that occurs millions of times is refused before its positions fill the memory', async () => {
  const many = replaceExact('a'.repeat(8_000_000), 'a', 'b', { path: 'f', all: true, largestChars: 8e6 });
  await expect(many).rejects.toThrow('more than 100000 times');
});

test('searching a large text does not block the event loop', async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  const old = `${'a b '.repeat(1_000_000)}z`;
  const edit = replaceExact('a b '.repeat(2_000_000), old, '', { path: 'f', all: false, largestChars: 8e6 });
  await expect(edit).rejects.toThrow('not in the file');
  clearInterval(timer);
  expect(turns).toBeGreaterThan(3);
});
