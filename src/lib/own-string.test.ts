import { expect, test } from 'vitest';
import { usedBytes } from '../../test/support/used-memory.ts';
import { ownString } from './own-string.ts';

const MEGABYTE = 1_048_576;

test.each(['', 'abc', 'ä\u4e00🐍', '\0\x1b'])('%j is the same text', (text) => expect(ownString(text)).toBe(text));

test('a part does not keep the whole alive', () => {
  const before = usedBytes();
  const parts = Array.from({ length: 20 }, (_, index) => ownString(`${index}${'x'.repeat(MEGABYTE)}`.slice(0, 100)));
  expect(usedBytes() - before).toBeLessThan(2 * MEGABYTE);
  expect(parts).toHaveLength(20);
});

test('a text takes its length, however many parts it was joined from', () => {
  const before = usedBytes();
  const texts = Array.from({ length: 20 }, () => {
    let text = '';
    for (let index = 0; index < 50_000; index += 1) text += index % 10;
    return ownString(text);
  });
  expect(usedBytes() - before).toBeLessThan(3 * MEGABYTE);
  expect(texts).toHaveLength(20);
});
