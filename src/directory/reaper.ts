import type { Clock } from '../lib/clock.ts';
import type { Lifetime } from '../sessions/lifetime.ts';

/** The earliest time at which the session can be due. A session in use becomes idle later than now. */
export function nextLookAt(life: Lifetime, now: number): number {
  return Math.min(life.openedAt + life.maxAgeMs, (life.inUse ? now : life.lastUsedAt) + life.idleMs);
}

/**
 * One timer for all sessions, set to the earliest time at which one can be due. Using a session only delays that, so it
 * needs no new timer.
 */
export interface Reaper {
  /** Makes sure that the timer fires in time for a new session. */
  watch(life: Lifetime): void;
  stop(): void;
}

export function createReaper(clock: Clock, lives: () => Iterable<Lifetime>, reapDue: (now: number) => void): Reaper {
  let callOff: (() => void) | undefined;
  let setFor = Number.POSITIVE_INFINITY;
  let stopped = false;

  function setTimer(at: number, now: number): void {
    if (stopped || at >= setFor) return;
    callOff?.();
    setFor = at;
    callOff = clock.after(at - now, look);
  }

  function look(): void {
    callOff = undefined;
    setFor = Number.POSITIVE_INFINITY;
    const now = clock.now();
    reapDue(now);
    for (const life of lives()) setTimer(nextLookAt(life, now), now);
  }

  return {
    watch: (life) => {
      const now = clock.now();
      setTimer(nextLookAt(life, now), now);
    },
    stop: () => {
      stopped = true;
      callOff?.();
    },
  };
}
