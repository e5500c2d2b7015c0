import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { unlessAborted } from './abort.ts';
import { deferred } from './deferred.ts';

it('a result that comes before the signal leaves no listener on it', async () => {
  const { signal } = new AbortController();
  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1);
  await expect(unlessAborted(Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('work is given up with the reason of the signal, before it or in the middle', async () => {
  const stop = new AbortController();
  const waiting = unlessAborted(deferred<void>().promise, stop.signal);
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(unlessAborted(Promise.resolve(1), stop.signal)).rejects.toThrow('enough');
});
