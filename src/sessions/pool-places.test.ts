import { expect, test } from 'vitest';
import { placeFor } from './pool-places.ts';

const places = (...owners: string[]) => owners.map((owner, at) => ({ owner, at, isReady: true }));

test('an owner gets a free place, and at most half of all', () => {
  expect(placeFor('a', [], 4)).toEqual({ kind: 'free' });
  expect(placeFor('a', places('a'), 4)).toEqual({ kind: 'free' });
  expect(placeFor('a', places('a', 'a'), 4)).toEqual({ kind: 'none' });
  expect(placeFor('a', [], 1)).toEqual({ kind: 'free' });
});

test('an owner without a place gets the oldest of the owner with the most', () => {
  const taken = places('b', 'c', 'c', 'b', 'c', 'd');
  expect(placeFor('a', taken, 6)).toEqual({ kind: 'evicts', place: taken[1] });
});

test('a sandbox that is being made is not evicted', () => {
  const [first, ...rest] = places('c', 'c', 'b', 'b');
  expect(placeFor('a', [{ ...first!, isReady: false }, ...rest], 4)).toEqual({ kind: 'evicts', place: rest[0] });
});

test('owners with one place each, or one fewer than the owner that asks, lose none', () => {
  expect(placeFor('a', places('b', 'c', 'd', 'e'), 4)).toEqual({ kind: 'none' });
  expect(placeFor('a', places('a', 'b', 'b', 'c'), 4)).toEqual({ kind: 'none' });
});
