import type { LiveSandbox } from '../guest/live-sandbox.ts';
import { unlessWithdrawn } from '../lib/unless-withdrawn.ts';

/** The sandbox of a session: one at a time, replaced when it is lost. */
export interface CurrentSandbox {
  /** Returns the sandbox, or makes another one after a loss. Rejects if the session is closed or the caller withdraws. */
  get(signal?: AbortSignal): Promise<LiveSandbox>;
  /**
   * Ends the custody: from now on there is no sandbox, and no loss is reported. Resolves with the sandbox and the one
   * that was being made, of which the caller disposes.
   */
  take(): Promise<LiveSandbox[]>;
}

export interface CurrentSandboxOptions {
  readonly first: LiveSandbox;
  /** Makes another sandbox after a loss. */
  readonly reopen: () => Promise<LiveSandbox>;
  readonly isOpen: () => boolean;
  /** Throws if the session is closed. */
  readonly requireOpen: () => void;
  /** Called when the sandbox of an open session is lost. */
  readonly onLost: (reason: string) => void;
  /** Makes the error of a caller that withdraws. */
  readonly withdrawal: () => Error;
}

export function createCurrentSandbox(options: CurrentSandboxOptions): CurrentSandbox {
  const { isOpen, requireOpen, onLost, withdrawal } = options;
  let current: LiveSandbox | undefined;
  let reopening: Promise<LiveSandbox> | undefined;
  let isTaken = false;

  adopt(options.first);

  function adopt(live: LiveSandbox): void {
    current = live;
    void live.connection.ended.then((error) => {
      // A session that is closing waits for the removal of the sandbox that it has.
      if (current !== live || !isOpen()) return;
      current = undefined;
      onLost(error.message);
    });
  }

  /**
   * Makes another sandbox and adopts it. SECURITY: the waiting callers do not adopt it; if all of them withdrew, none
   * would ever dispose of it.
   */
  async function reopen(): Promise<LiveSandbox> {
    const made = await options.reopen().catch((error: unknown) => {
      requireOpen(); // a closed session explains the failure better
      throw error;
    });
    if (!isTaken) adopt(made);
    return made;
  }

  return {
    async get(signal) {
      requireOpen();
      if (current !== undefined) return current;
      // The caller's signal is not passed on: other callers may wait for the same sandbox.
      reopening ??= reopen().finally(() => {
        reopening = undefined;
      });
      const made = await unlessWithdrawn(reopening, signal, withdrawal);
      requireOpen();
      return current ?? made;
    },
    async take() {
      isTaken = true;
      const held = current;
      current = undefined;
      const late = await reopening?.catch(() => undefined);
      return [held, late].filter((sandbox) => sandbox !== undefined);
    },
  };
}
