import type { Clock } from '../lib/clock.ts';

/** When a session was last used, and whether it is in use. The reaper asks; the core of the session begins and ends each use. */
export interface Activity {
  /** Returns the function that ends the use. */
  beginUse(): () => void;
  /** Counts as a use that ends at once. */
  touch(): void;
  /** Calls `onUsed` now: the server is about to leave the session. */
  flush(): void;
  lastUsedAt(): number;
  inUse(): boolean;
}

/** A persistent session's record is updated at most this often. */
const UPDATE_INTERVAL_MS = 10_000;

/** `onUsed` is called when the session was used, at most every ten seconds. */
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
