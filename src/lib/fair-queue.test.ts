import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFairQueue, type Release } from './fair-queue.ts';

/** Takes a place for each key in turn; the names of those who got one, in the order in which they did. */
function crowd(places: number, keys: readonly string[]) {
  const queue = createFairQueue(places);
  const served: string[] = [];
  const releases: Release[] = [];
  const takers = keys.map((key, index) =>
    queue.take(key).then((release) => {
      served.push(`${key}${index}`);
      releases.push(release);
    }),
  );
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return { queue, served, releases, takers, settle };
}

test('gives places at once while there are any', () => {
  const queue = createFairQueue(2);
  expect([queue.tryTake('a'), queue.tryTake('a')].every(Boolean)).toBe(true);
  expect(queue.tryTake('b')).toBeUndefined();
});

test('a place that is given back twice is given back once', async () => {
  const queue = createFairQueue(1);
  const release = queue.tryTake('a')!;
  release();
  release();
  expect(queue.taken()).toBe(0);
  queue.tryTake('a');
  expect(queue.tryTake('a')).toBeUndefined();
});

test('one key with a crowd delays the next of another by one', async () => {
  const { served, releases, settle } = crowd(1, ['a', 'a', 'a', 'a', 'a', 'b', 'c']);
  for (let turn = 0; turn < 7; turn += 1) {
    await settle();
    releases.at(-1)?.();
  }
  expect(served).toEqual(['a0', 'a1', 'b5', 'c6', 'a2', 'a3', 'a4']);
});

test('nobody overtakes those who wait', async () => {
  const queue = createFairQueue(1);
  const release = queue.tryTake('a')!;
  const waiting = queue.take('b');
  release();
  expect(queue.tryTake('a')).toBeUndefined();
  (await waiting)();
  expect(queue.tryTake('a')).toBeDefined();
});

test('who withdraws leaves no place taken and nobody behind', async () => {
  const queue = createFairQueue(1);
  const release = queue.tryTake('a')!;
  const withdrawn = new AbortController();
  const first = queue.take('b', { signal: withdrawn.signal });
  const second = queue.take('b');
  withdrawn.abort(new Error('enough'));
  await expect(first).rejects.toThrow('enough');
  expect(queue.waiting('b')).toBe(1);
  release();
  (await second)();
  expect([queue.taken(), queue.waiting()]).toEqual([0, 0]);
  await expect(queue.take('b', { signal: withdrawn.signal })).rejects.toThrow('enough');
});

test('whoever takes and gives back, in any order, no more than the places are taken, and all are served', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 30 }),
      async (places, keys) => {
        const { queue, served, releases, takers, settle } = crowd(places, keys);
        while (served.length < keys.length || releases.length > 0) {
          await settle();
          expect(queue.taken()).toBeLessThanOrEqual(places);
          releases.splice(Math.floor(releases.length / 2), 1)[0]?.();
        }
        await Promise.all(takers);
        expect([queue.taken(), queue.waiting()]).toEqual([0, 0]);
        for (const key of 'abc') {
          const mine = served.filter((name) => name.startsWith(key)).map((name) => Number(name.slice(1)));
          expect(mine).toEqual(mine.toSorted((x, y) => x - y));
        }
      },
    ),
    { numRuns: 50 },
  );
});
