import { createFairQueue } from '../lib/fair-queue.ts';

/** Turns at the one thread that all parties share: owners, and strangers by their address. */
export interface Turns {
  /** Waits for a turn of this party. The function that is returned ends the turn; it ends by itself when the call takes long, because then it waits for something else. */
  take(party: string, options: TurnOptions): Promise<() => void>;
}

export interface TurnOptions {
  /** Aborted when the caller leaves. Asked for only where there is no turn at once. */
  leaving(): AbortSignal;
  /** Bytes of the call. A large call is the only one of its party. */
  readonly bytes?: number;
}

const AT_ONCE = 8;
const LARGE_BYTES = 65_536;
/** As many as one party can have. */
const LARGE_PLACES = AT_ONCE / 2;
const TURN_MS = 20;

/**
 * SECURITY: five hundred small requests that come at once are begun at once, and the next tenant's comes after all of them. So each party has a few at work, and the others' come
 * in between: a turn is given on only after the server has looked at what else came.
 */
export function createTurns(): Turns {
  const queue = createFairQueue(AT_ONCE);
  return {
    async take(party, { leaving, bytes = 0 }) {
      const count = bytes > LARGE_BYTES ? LARGE_PLACES : 1;
      const release = queue.tryTake(party, count) ?? (await queue.take(party, { signal: leaving(), count }));
      const long = setTimeout(release, TURN_MS);
      return () => {
        clearTimeout(long);
        setImmediate(release);
      };
    },
  };
}
