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
  expect([queue.tryTake('a'), queue.tryTake('b')].every(Boolean)).toBe(true);
  expect(queue.tryTake('c')).toBeUndefined();
});

/** How many places each key gets, one key after the other, when each takes as many as it can. */
function greedy(places: number, keys: string, options?: Parameters<typeof createFairQueue>[1]): number[] {
  const queue = createFairQueue(places, options);
  return [...keys].map((key) => {
    let count = 0;
    while (queue.tryTake(key) !== undefined) count += 1;
    return count;
  });
}

test('a key that takes all it can leaves half to the others, and so does the next', () => {
  expect(greedy(8, 'abcd')).toEqual([4, 2, 1, 1]);
  expect(greedy(100, 'ab')).toEqual([50, 25]);
  expect(greedy(2, 'ab')).toEqual([1, 1]);
  expect(greedy(1, 'ab')).toEqual([1, 0]);
});

test('a key that shares with no other takes all', () => {
  expect(greedy(8, 'ab', { alone: 'a' })).toEqual([8, 0]);
  expect(greedy(8, 'ab', { alone: 'c' })).toEqual([4, 2]);
});

test('who waits for a share of its own keeps nobody else waiting', async () => {
  const { queue, served, releases, settle } = crowd(4, ['a', 'a', 'a', 'a']);
  await settle();
  expect(served).toEqual(['a0', 'a1']);
  expect(queue.tryTake('b')).toBeDefined();
  releases[0]!();
  await settle();
  expect(served).toEqual(['a0', 'a1', 'a2']);
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

test('several places at once are shared as single ones are', () => {
  const queue = createFairQueue(100);
  expect(queue.tryTake('a', 40)).toBeDefined();
  expect(queue.tryTake('a', 21)).toBeUndefined();
  expect(queue.tryTake('a', 10)).toBeDefined();
  expect(queue.tryTake('b', 51)).toBeUndefined();
  expect(queue.tryTake('b', 50)).toBeDefined();
  expect(queue.taken()).toBe(100);
});

test('a key that waits for many places and holds none is not starved by small requests of those that hold some', async () => {
  const queue = createFairQueue(100);
  const [first, second] = [queue.tryTake('a', 30)!, queue.tryTake('a', 10)!];
  const large = queue.take('b', { count: 70 });
  expect(queue.tryTake('b', 1)).toBeUndefined(); // nobody overtakes within a key
  const more = queue.take('a', { count: 10 });
  expect(queue.waiting('a')).toBe(1);
  expect(queue.tryTake('c', 10)).toBeDefined(); // the first of another is not kept waiting
  second();
  first();
  (await more)();
  (await large)();
  expect([queue.taken(), queue.waiting()]).toEqual([10, 0]);
});

test('one that withdraws lets those take places who gave way to it', async () => {
  const queue = createFairQueue(100);
  queue.tryTake('a', 40);
  const withdrawn = new AbortController();
  const large = queue.take('b', { count: 70, signal: withdrawn.signal });
  const more = queue.take('a', { count: 10 });
  withdrawn.abort(new Error('enough'));
  await expect(large).rejects.toThrow('enough');
  expect(await more).toBeDefined();
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
