/** Time, injected: what depends on it is tested without waiting. */
export interface Clock {
  /** Milliseconds since 1970. Never goes back. */
  now(): number;
  /** Calls once, later; what it gives back calls it off. A timer alone keeps no process alive. */
  after(ms: number, work: () => void): () => void;
}

const LONGEST_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  // Not Date.now(): a clock that is set forward must not end every session at once.
  now: () => performance.timeOrigin + performance.now(),
  after: (ms, work) => {
    const timer = setTimeout(work, Math.min(Math.max(0, ms), LONGEST_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
};
