import { createHeartbeat } from './heartbeat.ts';

/**
 * Default inactivity timeout of a request. The guest may answer pings meanwhile, so the channel's heartbeat does not
 * notice.
 */
const PATIENCE_MS = 60_000;
const BEATS = 12;

/**
 * Inactivity timeout of one request: detects a guest that is alive but does not answer. Progress restarts it, so that a
 * large file may take as long as it needs.
 */
export interface Patience {
  /** Called when the guest took or sent a part of the transfer. */
  progress(): void;
  /** Waits for `reply`; `onSilence` is called at the timeout. */
  during<T>(reply: Promise<T>, onSilence: () => void): Promise<T>;
}

export interface PatienceOptions {
  readonly limitMs?: number | undefined;
  /** Whether the host's own reader or source is the slow one. That time does not count. */
  readonly isOurTurn?: () => boolean;
}

export function createPatience({ limitMs = PATIENCE_MS, isOurTurn = () => false }: PatienceOptions = {}): Patience {
  let giveUp = () => {};
  const heartbeat = createHeartbeat(limitMs / BEATS, (silentMs) => {
    if (isOurTurn()) heartbeat.heard();
    else if (silentMs >= limitMs) giveUp();
  });
  return {
    progress: () => heartbeat.heard(),
    async during(reply, onSilence) {
      giveUp = onSilence;
      heartbeat.start();
      try {
        return await reply;
      } finally {
        heartbeat.stop();
      }
    },
  };
}
