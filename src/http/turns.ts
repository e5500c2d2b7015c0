import { createFairQueue } from '../lib/fair-queue.ts';

/** Fair scheduling of the event loop, which all owners share. */
export interface Turns {
  /**
   * Waits for a turn of this owner. The returned function ends it; a long call ends it automatically, because then it
   * waits for something else.
   */
  take(owner: string, signal: AbortSignal): Promise<() => void>;
}

const AT_ONCE = 8;
const TURN_MS = 20;

/**
 * SECURITY: five hundred small concurrent calls would all be started at once, before the next call of another tenant.
 * So each owner runs a few at a time, and calls of other owners come in between: the next turn is given only after the
 * server has read new input.
 */
export function createTurns(): Turns {
  const queue = createFairQueue(AT_ONCE);
  return {
    async take(owner, signal) {
      const release = queue.tryTake(owner) ?? (await queue.take(owner, { signal }));
      const long = setTimeout(release, TURN_MS);
      return () => {
        clearTimeout(long);
        setImmediate(release);
      };
    },
  };
}
