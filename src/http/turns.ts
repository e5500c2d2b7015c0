import { createFairQueue } from '../lib/fair-queue.ts';

/** Turns at the one thread that all owners share. */
export interface Turns {
  /** A turn when it is this owner's. What it gives back ends it; it ends by itself when the call takes long, because then it waits for something else. */
  take(owner: string, signal: AbortSignal): Promise<() => void>;
}

const AT_ONCE = 8;
const TURN_MS = 20;

/**
 * SECURITY: five hundred small calls that come at once are begun at once, and the next tenant's comes after all of them. So each owner has a few at work, and the others' come
 * in between: a turn is given on only after the server has looked at what else came.
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
