import { createFairQueue } from '../lib/fair-queue.ts';
import { createPlacesPerKey } from '../lib/places-per-key.ts';

/** Turns of owners at the one thread that they share. */
export interface Turns {
  /**
   * Waits for a turn of this party. The returned function ends the turn. A long call ends it automatically, because
   * then it waits for something else.
   */
  take(party: string, options: TurnOptions): Promise<EndTurn>;
}

/** Ends a turn. Idempotent. */
export interface EndTurn {
  (): void;
  /** Whether the turn has ended, by this function or because it took long. */
  isOver(): boolean;
}

export interface TurnOptions {
  /** Aborted when the caller leaves. Asked for only where there is no turn at once. */
  leaving(): AbortSignal;
  /** Bytes of the call. Of large ones a party has one at a time. */
  readonly bytes?: number;
}

const AT_ONCE = 8;
/** SECURITY: as JSON, control characters take six times as many bytes. */
export const LARGE_BYTES = 32_768;
const TURN_MS = 20;
/** A large call that kept the thread for longer is followed by a pause, as many times as long. */
const SHORT_MS = 5;
const PAUSES = 2;

/**
 * SECURITY: five hundred small requests that arrive together would all be started before the next tenant's. So each
 * party has a few in progress, and requests of others come in between: the next turn is given only after the server
 * has read new input. Large requests of one party run one at a time, with pauses: megabytes are encoded in one go, and
 * a party that asks for one answer after another would leave the others only a moment between them.
 */
export function createTurns(): Turns {
  const queue = createFairQueue(AT_ONCE);
  const large = createPlacesPerKey(1);

  async function takeLarge(party: string, signal: AbortSignal): Promise<Release> {
    const pause = await large.take(party, { signal });
    try {
      const release = await queue.take(party, { signal });
      return (workedMs = 0) => {
        release();
        setTimeout(pause, workedMs > SHORT_MS ? workedMs * PAUSES : 0);
      };
    } catch (error) {
      pause();
      throw error;
    }
  }

  async function take(party: string, { leaving, bytes = 0 }: TurnOptions): Promise<Release> {
    if (bytes > LARGE_BYTES) return takeLarge(party, leaving());
    return queue.tryTake(party) ?? (await queue.take(party, { signal: leaving() }));
  }

  return { take: async (party, options) => timedTurn(await take(party, options)) };
}

/** A turn that holds a place until shortly after its end, and at most for `TURN_MS`. */
export function timedTurn(release: Release): EndTurn {
  let isOver = false;
  const long = setTimeout(() => {
    isOver = true;
    release();
  }, TURN_MS);
  const end = () => {
    clearTimeout(long);
    if (isOver) return;
    isOver = true;
    const endedAt = performance.now();
    setImmediate(() => release(performance.now() - endedAt));
  };
  return Object.assign(end, { isOver: () => isOver });
}

/** `workedMs`: how long the event loop took to come to its next turn. */
type Release = (workedMs?: number) => void;
