import { setImmediate as settled } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createNestedQueue } from './nested-queue.ts';

/** Lets the requests of these paths wait behind one that holds the only place, and returns the order of service. */
async function served(paths: readonly string[], withdrawn?: string): Promise<string[]> {
  const queue = createNestedQueue(1);
  const first = queue.tryTake()!;
  const order: string[] = [];
  const all = paths.map(async (path) => {
    const stop = new AbortController();
    const taken = queue.take(path.split('/'), stop.signal);
    if (path === withdrawn) stop.abort(new Error('left'));
    const release = await taken;
    order.push(path);
    release();
  });
  first();
  await Promise.allSettled(all);
  await settled();
  expect(queue.waiting()).toBe(0);
  expect(queue.tryTake()).toBeDefined();
  return order;
}

test('a group with many members gets no more than a group with one', async () => {
  const many = ['a/1', 'a/2', 'a/3', 'a/4'];
  expect(await served([...many, 'b/1', 'c/1'])).toEqual(['a/1', 'b/1', 'c/1', 'a/2', 'a/3', 'a/4']);
});

test('within a group its members take turns', async () => {
  expect(await served(['a/1', 'a/1', 'a/1', 'a/2', 'b/1'])).toEqual(['a/1', 'b/1', 'a/2', 'a/1', 'a/1']);
});

test('a request that is withdrawn takes no place and blocks no other', async () => {
  expect(await served(['a/1', 'a/2', 'b/1'], 'a/1')).toEqual(['a/2', 'b/1']);
  expect(await served(['a/1', 'b/1'], 'a/1')).toEqual(['b/1']);
});

test('places are taken at once while some are free, and released once', async () => {
  const queue = createNestedQueue(2);
  const [one, two] = [queue.tryTake()!, await queue.take(['a'])];
  expect(queue.tryTake()).toBeUndefined();
  one();
  one();
  expect(queue.tryTake()).toBeDefined();
  expect(queue.tryTake()).toBeUndefined();
  two();
});
