import fc from 'fast-check';
import { expect, test } from 'vitest';
import { threadMs } from '../../test/support/thread-time.ts';
import { createFairQueue, type Release } from './fair-queue.ts';

/** Requests a place for each key in turn, and records the names in the order in which they are granted. */
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

test('grants places immediately while some are free', () => {
  const queue = createFairQueue(2);
  expect([queue.tryTake('a'), queue.tryTake('b')].every(Boolean)).toBe(true);
  expect(queue.tryTake('c')).toBeUndefined();
});

/** The number of places that each key gets, one key after the other, if each takes as many as it can. */
function greedy(places: number, keys: string, options?: Parameters<typeof createFairQueue>[1]): number[] {
  const queue = createFairQueue(places, options);
  return [...keys].map((key) => {
    let count = 0;
    while (queue.tryTake(key) !== undefined) count += 1;
    return count;
  });
}

test('a greedy key leaves half of the places to the others, and so does the next', () => {
  expect(greedy(8, 'abcd')).toEqual([4, 2, 1, 1]);
  expect(greedy(100, 'ab')).toEqual([50, 25]);
  expect(greedy(2, 'ab')).toEqual([1, 1]);
  expect(greedy(1, 'ab')).toEqual([1, 0]);
});

test('the key `alone` can take all places', () => {
  expect(greedy(8, 'ab', { alone: 'a' })).toEqual([8, 0]);
  expect(greedy(8, 'ab', { alone: 'c' })).toEqual([4, 2]);
});

test('a key that has reached its share does not block other keys', async () => {
  const { queue, served, releases, settle } = crowd(4, ['a', 'a', 'a', 'a']);
  await settle();
  expect(served).toEqual(['a0', 'a1']);
  expect(queue.tryTake('b')).toBeDefined();
  releases[0]!();
  await settle();
  expect(served).toEqual(['a0', 'a1', 'a2']);
});

test('releasing a place twice releases it once', async () => {
  const queue = createFairQueue(1);
  const release = queue.tryTake('a')!;
  release();
  release();
  expect(queue.taken()).toBe(0);
  queue.tryTake('a');
  expect(queue.tryTake('a')).toBeUndefined();
});

test('a key with many waiting requests delays another key by one', async () => {
  const { served, releases, settle } = crowd(1, ['a', 'a', 'a', 'a', 'a', 'b', 'c']);
  for (let turn = 0; turn < 7; turn += 1) {
    await settle();
    releases.at(-1)?.();
  }
  expect(served).toEqual(['a0', 'b5', 'c6', 'a1', 'a2', 'a3', 'a4']);
});

test('a new request does not overtake waiting ones', async () => {
  const queue = createFairQueue(1);
  const release = queue.tryTake('a')!;
  const waiting = queue.take('b');
  release();
  expect(queue.tryTake('a')).toBeUndefined();
  (await waiting)();
  expect(queue.tryTake('a')).toBeDefined();
});

test('an aborted request takes no place and blocks no other', async () => {
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

test('requests for several places are shared like single ones', () => {
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
  expect(queue.tryTake('b', 1)).toBeUndefined(); // no overtaking within a key
  const more = queue.take('a', { count: 10 });
  expect(queue.waiting('a')).toBe(1);
  expect(queue.tryTake('c', 10)).toBeDefined(); // the first request of another key is not blocked
  second();
  first();
  (await more)();
  (await large)();
  expect([queue.taken(), queue.waiting()]).toEqual([10, 0]);
});

test('when a large request is aborted, the requests that it held back are granted', async () => {
  const queue = createFairQueue(100);
  queue.tryTake('a', 40);
  const withdrawn = new AbortController();
  const large = queue.take('b', { count: 70, signal: withdrawn.signal });
  const more = queue.take('a', { count: 10 });
  withdrawn.abort(new Error('enough'));
  await expect(large).rejects.toThrow('enough');
  expect(await more).toBeDefined();
});

test('a grant costs the same whether one key waits or ten thousand', async () => {
  const grantsMs = async (keys: number) => {
    const queue = createFairQueue(8);
    const all = Array.from({ length: 10_000 }, (_, index) =>
      queue.take(`key ${index % keys}`).then((release) => setImmediate(release)),
    );
    const begin = threadMs();
    await Promise.all(all);
    return threadMs() - begin;
  };
  await grantsMs(1); // warms up
  expect(await grantsMs(10_000)).toBeLessThan(10 * (await grantsMs(1)) + 100);
});

test('in any order of takes and releases, the places are never exceeded, and all requests are granted', async () => {
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
