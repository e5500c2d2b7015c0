import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shareOfMemory } from './owner.ts';
import { admit, type Holding, requireMemory } from './quota.ts';

const holdings = (all: Record<string, [sessions: number, waiting: number]>) =>
  new Map<string, Holding>(Object.entries(all).map(([owner, [sessions, waiting]]) => [owner, { sessions, waiting }]));

test('admits while neither the owner nor the server is at its limit', () => {
  expect(admit({ id: 'a', quota: 2 }, holdings({ a: [1, 0], b: [7, 0] }), 10)).toEqual({ kind: 'admitted' });
});

test('refuses an owner at its own limit, and says what to do', () => {
  expect(admit({ id: 'a', quota: 2 }, holdings({ a: [2, 0] }), 10)).toMatchObject({
    kind: 'refused',
    error: { code: 'too_many_sessions', message: 'you have 2 sessions, which is your limit', remedy: /Close one/ },
  });
});

test('refuses every owner when the server is full of open sessions', () => {
  expect(admit({ id: 'b', quota: 5 }, holdings({ a: [10, 0] }), 10)).toMatchObject({ kind: 'refused' });
});

test('lets the first session of an owner displace a waiting one of an owner who has many', () => {
  expect(admit({ id: 'c', quota: 5 }, holdings({ a: [6, 3], b: [4, 3] }), 10)).toEqual({
    kind: 'displaces',
    owner: 'a',
  });
});

test('displaces no owner who has no more sessions than the newcomer would have', () => {
  expect(admit({ id: 'b', quota: 5 }, holdings({ a: [3, 3], b: [2, 0] }), 5)).toMatchObject({ kind: 'refused' });
});

test('in a crowd of openings, no owner with at least two sessions fewer than another is refused, and the limit holds', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 100 }),
      fc.integer({ min: 1, max: 20 }),
      (arrivals, limit) => {
        const counts: Record<string, number> = {};
        const held = () => holdings(Object.fromEntries(Object.entries(counts).map(([owner, n]) => [owner, [n, n]])));
        for (const id of arrivals) {
          const admission = admit({ id, quota: 100 }, held(), limit);
          if (admission.kind === 'refused') {
            expect(counts[id] ?? 0).toBeGreaterThanOrEqual(Math.max(...Object.values(counts)) - 1);
            continue;
          }
          if (admission.kind === 'displaces') counts[admission.owner]! -= 1;
          counts[id] = (counts[id] ?? 0) + 1;
          expect(Object.values(counts).reduce((sum, n) => sum + n, 0)).toBeLessThanOrEqual(limit);
        }
      },
    ),
  );
});

const GiB = 1024 ** 3;
const sized = (...gib: number[]) => gib.map((each) => ({ memoryBytes: each * GiB }));

test('sessions whose memory limits fit into the quota are admitted, and one more is refused with what is left', () => {
  expect(() => requireMemory(8 * GiB, sized(2, 4), sized(2)[0]!)).not.toThrow();
  expect(() => requireMemory(8 * GiB, sized(2, 4), sized(3)[0]!)).toThrow(
    expect.objectContaining({
      code: 'too_much_memory',
      message: '3072 MiB of memory requested, but only 2048 of your 8192 MiB are left',
    }),
  );
});

test.each([
  [1, 2],
  [4, 4],
  [8, 8],
  [12, 8],
  [64, 32],
])("of a host with %i GiB an owner's share is %i", (host, share) => {
  expect(shareOfMemory(host * GiB)).toBe(share * GiB);
});
