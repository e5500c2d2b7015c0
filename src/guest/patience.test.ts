import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createPatience, LEAST_TRANSFER_BYTES } from './patience.ts';

const NEVER = new Promise<never>(() => {});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('ends a minute after the last progress, and not before', () => {
  const onSilence = vi.fn();
  const patience = createPatience();
  void patience.during(NEVER, onSilence);
  for (let minute = 0; minute < 10; minute += 1) {
    vi.advanceTimersByTime(50_000);
    patience.progress(LEAST_TRANSFER_BYTES);
  }
  expect(onSilence).not.toHaveBeenCalled();
  vi.advanceTimersByTime(66_000);
  expect(onSilence).toHaveBeenCalledWith('silent');
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

test('ends a transfer that stays below the minimum rate, however often a byte comes', () => {
  const giveUp = vi.fn();
  const patience = createPatience();
  void patience.during(NEVER, giveUp);
  for (let second = 0; second < 60; second += 1) {
    vi.advanceTimersByTime(1000);
    patience.progress(1);
  }
  expect(giveUp).not.toHaveBeenCalled();
  vi.advanceTimersByTime(6_000);
  expect(giveUp).toHaveBeenCalledExactlyOnceWith('too slow');
});

test('demands the minimum again and again: a fast beginning is no credit for later', () => {
  const giveUp = vi.fn();
  const patience = createPatience();
  void patience.during(NEVER, giveUp);
  patience.progress(1_000 * LEAST_TRANSFER_BYTES);
  for (let second = 0; second < 72; second += 1) {
    vi.advanceTimersByTime(1000);
    patience.progress(1);
  }
  expect(giveUp).toHaveBeenCalledWith('too slow');
});

test('a reader of the host that is slow at times does not restart the minimum rate', () => {
  const giveUp = vi.fn();
  let isOurTurn = false;
  const patience = createPatience({ isOurTurn: () => isOurTurn });
  void patience.during(NEVER, giveUp);
  for (let beat = 0; beat < 30; beat += 1) {
    isOurTurn = beat % 2 === 0;
    patience.progress(1);
    vi.advanceTimersByTime(5_000);
  }
  expect(giveUp).toHaveBeenCalledWith('too slow');
});

test('leaves no timer when the reply has come, or is a refusal', async () => {
  await createPatience().during(Promise.resolve(), () => {});
  await expect(createPatience().during(Promise.reject(new Error('no')), () => {})).rejects.toThrow('no');
  expect(vi.getTimerCount()).toBe(0);
});
