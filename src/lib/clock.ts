/** An injected clock, so that code with timers is tested without waiting. */
export interface Clock {
  /** Milliseconds since 1970. Never goes back. */
  now(): number;
  /** Calls `work` once after `ms`; the returned function cancels it. The timer does not keep the process alive. */
  after(ms: number, work: () => void): () => void;
}

const LONGEST_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  // `Date.now()` is not used: if the system clock is set forward, all sessions would end at once.
  now: () => performance.timeOrigin + performance.now(),
  after: (ms, work) => {
    const timer = setTimeout(work, Math.min(Math.max(0, ms), LONGEST_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
};
