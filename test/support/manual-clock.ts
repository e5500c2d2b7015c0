import type { Clock } from '../../src/lib/clock.ts';

/** A clock that stands until it is told to go on. */
export interface ManualClock extends Clock {
  /** Goes on by so much, calling what is due on the way. */
  advance(ms: number): void;
  /** How many timers are set. */
  timers(): number;
}

export function manualClock(start = 1_000_000): ManualClock {
  let time = start;
  const timers = new Set<{ at: number; work: () => void }>();

  function advance(ms: number): void {
    const until = time + ms;
    while (true) {
      const [first] = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (first === undefined) break;
      timers.delete(first);
      time = Math.max(time, first.at);
      first.work();
    }
    time = until;
  }

  return {
    now: () => time,
    after: (ms, work) => {
      const timer = { at: time + ms, work };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance,
    timers: () => timers.size,
  };
}
