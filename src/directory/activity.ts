import type { Clock } from '../lib/clock.ts';

/**
 * When a session was last used, and whether it is in use. The reaper reads it; the session's core begins and ends each
 * use.
 */
export interface Activity {
  /** Returns the function that ends the use. */
  beginUse(): () => void;
  /** Counts a use that ends at once. */
  touch(): void;
  /** Calls `onUsed` now. For a server that is about to leave the session. */
  flush(): void;
  lastUsedAt(): number;
  inUse(): boolean;
}

/** Minimum interval between updates of a persistent session's record. */
const UPDATE_INTERVAL_MS = 10_000;

/** `onUsed` is called after the session was used, at most every ten seconds. */
export function createActivity(clock: Clock, onUsed: () => void): Activity {
  let lastUsedAt = clock.now();
  let lastUpdateAt = lastUsedAt;
  let uses = 0;

  function touch(): void {
    lastUsedAt = clock.now();
    if (lastUsedAt < lastUpdateAt + UPDATE_INTERVAL_MS) return;
    lastUpdateAt = lastUsedAt;
    onUsed();
  }

  return {
    beginUse: () => {
      uses += 1;
      touch();
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        uses -= 1;
        touch();
      };
    },
    touch,
    flush: onUsed,
    lastUsedAt: () => lastUsedAt,
    inUse: () => uses > 0,
  };
}
