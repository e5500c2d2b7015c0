import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createHeartbeat } from './heartbeat.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('reports silence on every beat', () => {
  const onSilence = vi.fn();
  const heartbeat = createHeartbeat(100, onSilence);
  heartbeat.start();
  vi.advanceTimersByTime(200);
  heartbeat.heard();
  vi.advanceTimersByTime(200);
  expect(onSilence.mock.calls).toEqual([[100], [200], [100]]);
  heartbeat.stop();
});

test('a stopped heartbeat never beats again', () => {
  const heartbeat = createHeartbeat(100, () => {});
  heartbeat.stop();
  heartbeat.start();
  expect(vi.getTimerCount()).toBe(0);
});
