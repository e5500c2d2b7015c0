import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createDeadline } from './deadline.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('aborts with its reason at the deadline, and not before', () => {
  const late = new Error('late');
  using deadline = createDeadline(5_000, () => late);
  vi.advanceTimersByTime(4_999);
  expect(deadline.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(deadline.signal.reason).toBe(late);
});

test('leaves no timer once it is disposed of', () => {
  createDeadline(5_000, () => new Error('late'))[Symbol.dispose]();
  expect(vi.getTimerCount()).toBe(0);
});
