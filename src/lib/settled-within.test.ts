import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { settledWithin } from './settled-within.ts';

const NEVER = new Promise<never>(() => {});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('waits for the end of the work, as long as it is not aborted', async () => {
  const { signal } = new AbortController();
  const settled = vi.fn();
  void settledWithin(NEVER, 100, signal).then(settled);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(settled).not.toHaveBeenCalled();
  await settledWithin(Promise.reject(new Error('failed')), 100, signal);
});

test('does not wait for ever for aborted work', async () => {
  const stop = new AbortController();
  const settled = vi.fn();
  void settledWithin(NEVER, 100, stop.signal).then(settled);
  stop.abort();
  await vi.advanceTimersByTimeAsync(99);
  expect(settled).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(settled).toHaveBeenCalled();
});

test('leaves no timer once the work has ended', async () => {
  await settledWithin(Promise.resolve(), 100, AbortSignal.abort());
  expect(vi.getTimerCount()).toBe(0);
});
