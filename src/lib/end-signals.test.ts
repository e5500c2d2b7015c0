import { expect, test } from 'vitest';
import { usedBytes } from '../../test/support/used-memory.ts';
import { deferred } from './deferred.ts';
import { createEndSignals } from './end-signals.ts';

test('all signals of a promise abort when it settles, but those of work that is done', async () => {
  const signalOf = createEndSignals(() => new Error('closed'));
  const [one, other] = [deferred<void>(), deferred<void>()];
  const [first, second, third] = [signalOf(one.promise), signalOf(one.promise), signalOf(other.promise)];
  first[Symbol.dispose]();
  one.resolve();
  await one.promise;
  expect(second.signal.reason).toEqual(new Error('closed'));
  expect([first, third].map(({ signal }) => signal.aborted)).toEqual([false, false]);
  other.reject(new Error('failed'));
  await other.promise.catch(() => {});
  expect(third.signal.aborted).toBe(true);
  expect(signalOf(one.promise).signal.aborted).toBe(true);
});

test('nothing of finished work is held by a promise that goes on', () => {
  const signalOf = createEndSignals(() => new Error('closed'));
  const { promise } = deferred<void>();
  const before = usedBytes();
  for (let work = 0; work < 20_000; work += 1) signalOf(promise)[Symbol.dispose]();
  expect(usedBytes() - before).toBeLessThan(1e6);
});
