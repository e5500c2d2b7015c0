import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createPatience } from './patience.ts';

const NEVER = new Promise<never>(() => {});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('ends a minute after the last progress, and not before', () => {
  const onSilence = vi.fn();
  const patience = createPatience();
  void patience.during(NEVER, onSilence);
  for (let minute = 0; minute < 10; minute += 1) {
    vi.advanceTimersByTime(50_000);
    patience.progress();
  }
  expect(onSilence).not.toHaveBeenCalled();
  vi.advanceTimersByTime(66_000);
  expect(onSilence).toHaveBeenCalled();
});

test('does not count the time of a slow reader or source on the host', () => {
  const onSilence = vi.fn();
  let isOurTurn = true;
  void createPatience({ isOurTurn: () => isOurTurn }).during(NEVER, onSilence);
  vi.advanceTimersByTime(3_600_000);
  expect(onSilence).not.toHaveBeenCalled();
  isOurTurn = false;
  vi.advanceTimersByTime(66_000);
  expect(onSilence).toHaveBeenCalled();
});

test('leaves no timer when the reply has come, or is a refusal', async () => {
  await createPatience().during(Promise.resolve(), () => {});
  await expect(createPatience().during(Promise.reject(new Error('no')), () => {})).rejects.toThrow('no');
  expect(vi.getTimerCount()).toBe(0);
});
