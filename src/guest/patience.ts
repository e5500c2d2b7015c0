/**
 * Default inactivity timeout of a request. The guest may answer pings meanwhile, so the channel's heartbeat does not
 * notice.
 */
const PATIENCE_MS = 60_000;
const BEATS = 12;
/** Minimum that a transfer must bring in each timeout. Any guest is faster by orders of magnitude. */
export const LEAST_TRANSFER_BYTES = 65_536;

/** Why a request is given up: nothing came at all, or less than the minimum rate of a transfer. */
export type GivenUp = 'silent' | 'too slow';

/**
 * Inactivity timeout of one request: detects a guest that is alive but does not answer. Progress restarts it, so that a
 * large file may take as long as it needs.
 *
 * SECURITY: progress has a minimum rate. A guest that sends one byte now and then would otherwise keep a reader of the
 * host, and all that the reader holds, for ever.
 */
export interface Patience {
  /** Called when the guest took or sent so many bytes of the transfer. */
  progress(bytes: number): void;
  /** Waits for `reply`; `giveUp` is called at the timeout. */
  during<T>(reply: Promise<T>, giveUp: (why: GivenUp) => void): Promise<T>;
}

export interface PatienceOptions {
  readonly limitMs?: number | undefined;
  /** Whether the host's own reader or source is the slow one. That time does not count. */
  readonly isOurTurn?: () => boolean;
}

/** It counts beats rather than time: a host that was itself asleep or busy must not give the guest up. */
export function createPatience({ limitMs = PATIENCE_MS, isOurTurn = () => false }: PatienceOptions = {}): Patience {
  let hasProgress = false;
  let silentBeats = 0;
  /** Beats of the guest's turn since the minimum was reached last, and the bytes of that time. */
  let slowBeats = 0;
  let bytesInBeats = 0;

  function beat(giveUp: (why: GivenUp) => void): void {
    const isOurs = isOurTurn();
    silentBeats = hasProgress || isOurs ? 0 : silentBeats + 1;
    hasProgress = false;
    // SECURITY: the host's own turn does not restart this count. A guest could arrange one for each beat.
    if (bytesInBeats >= LEAST_TRANSFER_BYTES) slowBeats = bytesInBeats = 0;
    else if (!isOurs) slowBeats += 1;
    if (silentBeats >= BEATS) giveUp('silent');
    else if (slowBeats > BEATS) giveUp('too slow');
  }

  return {
    progress: (bytes) => {
      hasProgress = true;
      bytesInBeats += bytes;
    },
    async during(reply, giveUp) {
      const timer = setInterval(() => beat(giveUp), limitMs / BEATS).unref();
      try {
        return await reply;
      } finally {
        clearInterval(timer);
      }
    },
  };
}
