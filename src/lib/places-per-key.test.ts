import { expect, test } from 'vitest';
import { createPlacesPerKey } from './places-per-key.ts';

test('a key that holds all its places does not block other keys, and gets the next place on release', async () => {
  const places = createPlacesPerKey(2);
  const [first, second] = await Promise.all([places.take('a'), places.take('a')]);
  let isServed = false;
  const third = places.take('a').finally(() => {
    isServed = true;
  });
  const other = await places.take('b');
  expect(isServed).toBe(false);
  first();
  first();
  const release = await third;
  expect(places.size()).toBe(2);
  for (const end of [second, release, other]) end();
  expect(places.size()).toBe(0);
});

test('an aborted request holds no place', async () => {
  const places = createPlacesPerKey(1);
  const release = await places.take('a');
  const withdrawn = new AbortController();
  const waiting = places.take('a', { signal: withdrawn.signal });
  withdrawn.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(places.take('b', { signal: withdrawn.signal })).rejects.toThrow('enough');
  release();
  expect(places.size()).toBe(0);
});
