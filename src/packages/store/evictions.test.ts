import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evictions } from './evictions.ts';
import type { ListedLayer } from './stored-layers.ts';

const layer = (owner: string, usedAt: number, bytes: number, isInUse = false): ListedLayer => ({
  ...{ key: `${owner}-${usedAt}`, owner, usedAt, bytes: 1, occupiedBytes: bytes, isInUse },
  ...{ manager: 'pip', packages: [], files: 1, madeAt: 0 },
});
const keysOf = (layers: ListedLayer[]) => layers.map(({ key }) => key);

describe('layers that are removed', () => {
  it('are none within the limits', () => {
    expect(evictions([layer('a', 1, 50), layer('b', 2, 50)], { ownerBytes: 50, bytes: 100 })).toEqual([]);
  });

  it('are those used least recently of an owner with too much', () => {
    const layers = [layer('a', 3, 40), layer('a', 1, 40), layer('a', 2, 40), layer('b', 0, 40)];
    expect(keysOf(evictions(layers, { ownerBytes: 90, bytes: 1000 }))).toEqual(['a-1']);
  });

  it('are those of the owner who has most, if all together have too much', () => {
    const layers = [layer('quiet', 0, 10), layer('loud', 5, 60), layer('loud', 6, 60)];
    expect(keysOf(evictions(layers, { ownerBytes: 200, bytes: 100 }))).toEqual(['loud-5']);
  });

  it('are never in use, even if the limits do not hold then', () => {
    const layers = [layer('a', 1, 60, true), layer('a', 2, 60)];
    expect(keysOf(evictions(layers, { ownerBytes: 10, bytes: 10 }))).toEqual(['a-2']);
  });

  it('suffice, or nothing else could be removed', () => {
    const any = fc.record({
      ...{ owner: fc.constantFrom('a', 'b', 'c'), usedAt: fc.nat(100), bytes: fc.nat(100), isInUse: fc.boolean() },
    });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 12 }), fc.nat(200), fc.nat(400), (facts, ownerBytes, bytes) => {
        const layers = facts.map((one) => layer(one.owner, one.usedAt, one.bytes, one.isInUse));
        const gone = new Set(evictions(layers, { ownerBytes, bytes }));
        expect([...gone].some(({ isInUse }) => isInUse)).toBe(false);
        const left = layers.filter((one) => !gone.has(one));
        const isFree = left.some(({ isInUse }) => !isInUse);
        const sizeOf = (some: ListedLayer[]) => some.reduce((sum, one) => sum + one.occupiedBytes, 0);
        if (sizeOf(left) > bytes) expect(isFree).toBe(false);
        for (const owner of ['a', 'b', 'c']) {
          const own = left.filter((one) => one.owner === owner);
          if (sizeOf(own) > ownerBytes) expect(own.some(({ isInUse }) => !isInUse)).toBe(false);
        }
      }),
    );
  });
});
