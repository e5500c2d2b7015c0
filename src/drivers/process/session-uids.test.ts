import { describe, expect, test } from 'vitest';
import { coversUids, createUidBlocks } from './session-uids.ts';

const WHOLE = '         0          0 4294967295\n';

describe('uid blocks', () => {
  test('give every jail and every session a unique uid', () => {
    const blocks = createUidBlocks(true, WHOLE);
    const uids = Array.from({ length: 100 }, () => blocks.take()).flatMap((block) => [
      block?.jail,
      ...Array.from({ length: 100 }, () => block?.next()),
    ]);
    expect(new Set(uids).size).toBe(100 * 101);
    expect(uids.every((uid) => uid !== undefined && uid >= 0x78000000 && uid < 0x7ffe0000)).toBe(true);
  });

  test('map the jail to the uid that sessions have inside, and the rest to itself', () => {
    const block = createUidBlocks(true, WHOLE).take();
    const [own, rest] = block?.map.trim().split('\n') ?? [];
    expect(own).toBe(`1000 ${block?.jail} 1`);
    const [inside, outside, length] = (rest ?? '').split(' ').map(Number) as [number, number, number];
    expect(inside).toBe(outside);
    const uid = block?.next() ?? 0;
    expect(uid).toBeGreaterThanOrEqual(inside);
    expect(uid).toBeLessThan(inside + length);
  });

  test.each([
    ['an ordinary user', false, WHOLE],
    ['root of a container with few uids', true, '0 100000 65536\n'],
    ['root whose uids are others outside', true, '0 100000 4294867295\n'],
  ])('are not given by %s', (_who, isRoot, map) => {
    expect(createUidBlocks(isRoot, map).take()).toBeUndefined();
  });
});

test.each([
  [WHOLE, true],
  ['0 0 1000\n1000 1000 4294966295\n', true],
  ['0 0 1000\n', false],
  ['', false],
])('whether %j covers a range', (map, covers) => {
  expect(coversUids(map, 2_000_000_000, 10)).toBe(covers);
});
