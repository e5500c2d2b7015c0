import { createHeartbeat } from './heartbeat.ts';

/** How long the guest may do nothing at all for a request. It answers pings while it does not, so the heartbeat of the channel sees nothing. */
const PATIENCE_MS = 60_000;
const BEATS = 12;

/** Notices that a guest lives but does not answer. Any progress begins it anew: a large file may take as long as it likes. */
export interface Patience {
  /** The guest took or sent something of what was asked for. */
  progress(): void;
  /** Waits with `reply`; `onSilence` is told when the guest has done nothing for too long. */
  during<T>(reply: Promise<T>, onSilence: () => void): Promise<T>;
}

export interface PatienceOptions {
  readonly limitMs?: number | undefined;
  /** Whoever reads on our side, or gives what is to be sent, is slow. That is not the guest's silence. */
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
