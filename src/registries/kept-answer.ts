import { type Clock, systemClock } from '../lib/clock.ts';

/**
 * Keeps the answer of `work` for some time; callers at the same time share it. An answer for which `forMs` says 0, and a failure, are not kept.
 */
export function keptAnswer<T>(
  work: () => Promise<T>,
  forMs: (answer: T) => number,
  clock: Clock = systemClock,
): () => Promise<T> {
  let current: Promise<T> | undefined;
  let until = Number.POSITIVE_INFINITY;
  return () => {
    if (current !== undefined && clock.now() < until) return current;
    const asked = work();
    current = asked;
    until = Number.POSITIVE_INFINITY;
    const settle = (ms: number) => {
      if (current === asked) until = clock.now() + ms;
    };
    asked.then(
      (answer) => settle(forMs(answer)),
      () => settle(0),
    );
    return asked;
  };
}
