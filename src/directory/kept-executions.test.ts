import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dropped } from './kept-executions.ts';

const limits = { count: 3, bytes: 100, logBytes: 1000 };
const named = (...sizes: [bytes: number, logBytes: number][]) =>
  sizes.map(([bytes, logBytes], index) => [String(index), { bytes, logBytes }] as const);
const names = (kept: readonly (readonly [string, unknown])[]) => kept.map(([name]) => name);

test('drops the oldest beyond the count', () => {
  expect(names(dropped(named([1, 0], [1, 0], [1, 0], [1, 0], [1, 0]), limits))).toEqual(['0', '1']);
});

test('drops the oldest beyond the bytes, in memory and on disk', () => {
  expect(names(dropped(named([50, 0], [60, 0], [40, 0]), limits))).toEqual(['0']);
  expect(names(dropped(named([1, 700], [1, 400], [1, 300]), limits))).toEqual(['0']);
});

test('keeps the last one however large it is', () => {
  expect(names(dropped(named([1, 0], [1e9, 1e9]), limits))).toEqual(['0']);
});

test('in any order of endings, the newest stay, within the limits unless only one is left', () => {
  const size = fc.tuple(fc.nat(150), fc.nat(1500));
  fc.assert(
    fc.property(fc.array(size, { maxLength: 12 }), (sizes) => {
      const kept = named(...sizes);
      const gone = dropped(kept, limits);
      expect(gone).toEqual(kept.slice(0, gone.length));
      const left = kept.slice(gone.length);
      if (left.length <= 1) return;
      expect(left.length).toBeLessThanOrEqual(limits.count);
      expect(left.reduce((sum, [, { bytes }]) => sum + bytes, 0)).toBeLessThanOrEqual(limits.bytes);
      expect(left.reduce((sum, [, { logBytes }]) => sum + logBytes, 0)).toBeLessThanOrEqual(limits.logBytes);
    }),
  );
});
