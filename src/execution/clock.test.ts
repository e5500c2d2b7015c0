import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createFairQueue } from '../lib/fair-queue.ts';
import { createExecutionClock } from './clock.ts';
import { holdSlot } from './held-slot.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the timeout of an execution', () => {
  test('is reached without pauses, once', async () => {
    const { onLimit, clock } = started({ timeoutMs: 100, maxPausedMs: 1_000 });
    await vi.advanceTimersByTimeAsync(99);
    expect(onLimit).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(onLimit).toHaveBeenCalledTimes(1);
    expect(clock.limitMs()).toBe(100);
  });

  test('stands while at least one call is pending, and goes on with what was left', async () => {
    const { onLimit, clock } = started({ timeoutMs: 100, maxPausedMs: 10_000 });
    await vi.advanceTimersByTimeAsync(60);
    const [first, second] = [clock.pause(), clock.pause()];
    await vi.advanceTimersByTimeAsync(500);
    await first();
    await first(); // once is enough
    await vi.advanceTimersByTimeAsync(500);
    await second();
    await vi.advanceTimersByTimeAsync(39);
    expect(onLimit).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(onLimit).toHaveBeenCalledTimes(1);
  });

  test('does not stand for ever: an absolute limit counts always', async () => {
    const { onLimit, clock } = started({ timeoutMs: 100, maxPausedMs: 400 });
    clock.pause();
    await vi.advanceTimersByTimeAsync(499);
    expect(onLimit).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(onLimit).toHaveBeenCalledTimes(1);
    expect(clock.limitMs()).toBe(500);
  });

  test('leaves no timer behind, not even by a pause after its end', async () => {
    const { clock, stop } = started({ timeoutMs: 100, maxPausedMs: 1_000 });
    const resume = clock.pause();
    stop();
    clock.pause();
    await resume();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('counts the CPU time of a paused execution', async () => {
    let cpu = 0;
    const { onLimit, clock } = started({ timeoutMs: 2_500, maxPausedMs: 60_000, cpuMs: async () => cpu });
    clock.pause();
    for (let second = 0; second < 2; second += 1) {
      await vi.advanceTimersByTimeAsync(500);
      cpu += 1_000;
      await vi.advanceTimersByTimeAsync(500);
    }
    expect(onLimit).not.toHaveBeenCalled();
    cpu += 1_000;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(onLimit).toHaveBeenCalledTimes(1);
    expect(clock.limitMs()).toBe(2_500);
  });

  test('counts CPU time between many short pauses, too', async () => {
    let cpu = 0;
    const { onLimit, clock } = started({ timeoutMs: 1_000, maxPausedMs: 60_000, cpuMs: async () => cpu });
    for (let call = 0; call < 11; call += 1) {
      const resume = clock.pause();
      await vi.advanceTimersByTimeAsync(10);
      cpu += 100;
      await resume();
    }
    await vi.advanceTimersByTimeAsync(0);
    expect(onLimit).toHaveBeenCalledTimes(1);
  });

  test('counts the CPU time of an execution that waits for a slot', async () => {
    let cpu = 0;
    const slot = { giveBack: () => {}, takeAgain: () => new Promise<void>(() => {}) };
    const { onLimit, clock } = started({ timeoutMs: 2_500, maxPausedMs: 60_000, slot, cpuMs: async () => cpu });
    const resume = clock.pause();
    await vi.advanceTimersByTimeAsync(10);
    void resume();
    for (let second = 0; second < 4; second += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      cpu += 1_000;
    }
    expect(onLimit).toHaveBeenCalledTimes(1);
  });

  test('asks for the CPU time once a second, however often it is paused while an answer is late', async () => {
    const asked: (() => void)[] = [];
    const cpuMs = () => new Promise<number>((resolve) => asked.push(() => resolve(0)));
    const { clock } = started({ timeoutMs: 1_000, maxPausedMs: 600_000, cpuMs });
    let resume = clock.pause();
    for (let round = 0; round < 20; round += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      const resumed = resume();
      const next = clock.pause();
      for (const answer of asked.splice(0)) answer();
      await resumed;
      resume = next;
    }
    await vi.advanceTimersByTimeAsync(0);
    asked.length = 0;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(asked.length).toBeLessThanOrEqual(1);
  });

  test('goes on where the guest does not tell its CPU time', async () => {
    const { onLimit, clock } = started({
      timeoutMs: 100,
      maxPausedMs: 60_000,
      cpuMs: async () => Promise.reject(new Error('not offered')),
    });
    const resume = clock.pause();
    await vi.advanceTimersByTimeAsync(5_000);
    await resume();
    await vi.advanceTimersByTimeAsync(100);
    expect(onLimit).toHaveBeenCalledTimes(1);
  });
});

describe('the slot of an execution', () => {
  test('is free while it waits for a call, and is taken again before the call returns', async () => {
    const queue = createFairQueue(1, { alone: 'a' });
    const slots = { tryTake: () => queue.tryTake('a'), take: (signal: AbortSignal) => queue.take('a', { signal }) };
    const slot = holdSlot(slots, queue.tryTake('a'));
    const { clock } = started({ timeoutMs: 100, maxPausedMs: 1_000, slot });
    const resume = clock.pause();
    const other = queue.tryTake('a');
    expect(other).toBeDefined();
    let hasResumed = false;
    const resumed = resume().then(() => {
      hasResumed = true;
    });
    await vi.advanceTimersByTimeAsync(10);
    expect(hasResumed).toBe(false);
    other?.();
    await resumed;
    expect(queue.taken()).toBe(1);
    slot.release();
    expect(queue.taken()).toBe(0);
  });

  test('is not taken again by an execution that has ended', async () => {
    const queue = createFairQueue(1, { alone: 'a' });
    const slots = { tryTake: () => queue.tryTake('a'), take: (signal: AbortSignal) => queue.take('a', { signal }) };
    const slot = holdSlot(slots, queue.tryTake('a'));
    const { clock, stop } = started({ timeoutMs: 100, maxPausedMs: 1_000, slot });
    const resume = clock.pause();
    const other = queue.tryTake('a');
    const resumed = resume();
    stop();
    slot.release();
    await resumed;
    other?.();
    expect(queue.taken()).toBe(0);
    expect(queue.waiting()).toBe(0);
  });

  test('stays free if another call begins while it is being taken', async () => {
    const queue = createFairQueue(1, { alone: 'a' });
    const slots = { tryTake: () => queue.tryTake('a'), take: (signal: AbortSignal) => queue.take('a', { signal }) };
    const slot = holdSlot(slots, queue.tryTake('a'));
    const { clock } = started({ timeoutMs: 100, maxPausedMs: 10_000, slot });
    const first = clock.pause();
    const other = queue.tryTake('a');
    const resumed = first();
    const second = clock.pause();
    other?.();
    await resumed;
    expect(queue.taken()).toBe(0);
    await second();
    expect(queue.taken()).toBe(1);
  });
});

function started(options: Parameters<typeof createExecutionClock>[0]) {
  const onLimit = vi.fn();
  const clock = createExecutionClock(options);
  return { clock, onLimit, stop: clock.start(onLimit) };
}
