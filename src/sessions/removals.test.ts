import { expect, test } from 'vitest';
import { deferred } from '../lib/deferred.ts';
import { createRemovals } from './removals.ts';

test('an owner with too many removals waits for one of them, and no other owner does', async () => {
  const removals = createRemovals(2);
  const gone = [deferred<void>(), deferred<void>()];
  for (const one of gone) removals.track('ada', one.promise);
  let hasRoom = false;
  const waiting = removals.room('ada').then(() => {
    hasRoom = true;
  });
  await removals.room('bob');
  expect(hasRoom).toBe(false);
  gone[1]!.resolve();
  await waiting;
  expect(hasRoom).toBe(true);
});

test('a caller that withdraws does not wait, and a removal that fails counts as over', async () => {
  const removals = createRemovals(1);
  const gone = deferred<void>();
  removals.track('ada', gone.promise);
  const stop = new AbortController();
  const waiting = removals.room('ada', stop.signal);
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
  gone.reject(new Error('the engine is gone'));
  await removals.settled();
  await removals.room('ada');
});

test('one removal that ends admits one opening, and that opening the next', async () => {
  const removals = createRemovals(2);
  const gone = [deferred<void>(), deferred<void>()];
  for (const one of gone) removals.track('ada', one.promise);
  const admitted: (() => void)[] = [];
  const waiting = [1, 2, 3].map(async () => admitted.push(await removals.room('ada')));
  gone[0]!.resolve();
  await waiting[0];
  await new Promise(setImmediate);
  expect(admitted).toHaveLength(1);
  admitted[0]!();
  await waiting[1];
  gone[1]!.resolve();
  await waiting[2];
  expect(admitted).toHaveLength(3);
});
