import { expect, test } from 'vitest';
import { roomFor } from './room.ts';
import type { ListedLayer } from './stored-layers.ts';

const layer = (owner: string, bytes: number, isInUse = true): ListedLayer => ({
  ...{ key: `${owner}-${bytes}`, owner, bytes: 1, occupiedBytes: bytes, isInUse, usedAt: 0 },
  ...{ manager: 'pip', packages: [], files: 1, madeAt: 0 },
});
const LIMITS = { ownerBytes: 100, bytes: 200 };

test('layers in use take room from their owner, and those of all from each; others are removed when room is needed', () => {
  const layers = [layer('a', 30), layer('a', 40, false), layer('b', 90), layer('c', 60)];
  expect(roomFor('a', layers, LIMITS, 50)).toBe(20);
  expect(roomFor('b', layers, LIMITS, 50)).toBe(10);
  expect(roomFor('a', layers.slice(0, 2), LIMITS, 50)).toBe(70);
  expect(roomFor('new', [], LIMITS, 50)).toBe(100);
});

test('an owner whose layers are not kept can use one at a time', () => {
  expect(roomFor('a', [], { ownerBytes: 0, bytes: 0 }, 50)).toBe(50);
  expect(roomFor('a', [layer('a', 50)], { ownerBytes: 0, bytes: 0 }, 50)).toBe(0);
});
