import { rm } from 'node:fs/promises';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { CoreSession } from '../execution/core-session.ts';
import type { LiveSandbox } from '../guest/live-sandbox.ts';
import { either } from '../lib/abort.ts';
import { unlessWithdrawn } from '../lib/unless-withdrawn.ts';
import type { Isolation } from '../sandbox/isolation.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import { type SessionState, takesWork, transition } from './state.ts';

/**
 * What a client holds: an id, a spec, and one sandbox at a time. When a sandbox is lost, the next use makes another and says so. `execution/` runs
 * code in it, one piece at a time and in order.
 */
export interface Session extends CoreSession {
  /** The sandbox it began with, lost or not. */
  readonly first: LiveSandbox;
  state(): SessionState;
  /** From now on it refuses new work; what runs goes on until `close`. */
  retire(): void;
  /** Closes it here and lets its sandbox live on, for a later server. */
  leave(): Promise<void>;
}

/** A place among the executions of a whole server, which may have to be waited for. */
export interface Slots {
  /** One at once, if there is one: a call in a quiet server costs no promise. */
  tryTake(): (() => void) | undefined;
  take(signal: AbortSignal): Promise<() => void>;
}

export interface SessionOptions {
  readonly id: string;
  readonly spec: SandboxSpec;
  readonly logFolder: string;
  readonly passedOver: Isolation['passedOver'];
  /** The sandbox it begins with. */
  readonly first: LiveSandbox;
  /** Makes another after a loss. */
  readonly reopen: () => Promise<LiveSandbox>;
  readonly onClosed: () => void;
  /** To be awaited when nothing of its sandboxes is left here. */
  readonly onEnded?: () => Promise<void>;
  /** Where a server bounds what runs at once in all its sessions. */
  readonly slots?: Slots | undefined;
}

export function createSession(options: SessionOptions): Session {
  let state: SessionState = 'opening';
  let current: LiveSandbox | undefined;
  let reopening: Promise<LiveSandbox> | undefined;
  let lossReason: string | undefined;
  let queue: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let executions = 0;
  let closing: Promise<void> | undefined;
  const retired = new AbortController();

  adopt(options.first);
  move('opened');

  function adopt(live: LiveSandbox): void {
    current = live;
    void live.connection.ended.then((error) => {
      if (current !== live || !takesWork(state)) return;
      current = undefined;
      lossReason = error.message;
    });
  }

  function requireOpen(): void {
    if (takesWork(state)) return;
    throw new HotcellError('session_closed', `the session ${options.id} is closed`, { remedy: 'Open a new one.' });
  }

  async function live(signal?: AbortSignal): Promise<LiveSandbox> {
    requireOpen();
    if (current !== undefined) return current;
    // Not with the caller's signal: others may wait for the same one.
    reopening ??= options.reopen().finally(() => {
      reopening = undefined;
    });
    const made = await unlessWithdrawn(reopening, signal, withdrawal);
    if (takesWork(state) && current === undefined) adopt(made);
    if (current !== made) await made.dispose();
    requireOpen();
    return current ?? made;
  }

  function retire(): void {
    move('closing-began');
    retired.abort();
  }

  /** Waits for a place. Rejects when the caller withdraws or the session is closed meanwhile. */
  async function slot(signal: AbortSignal | undefined): Promise<(() => void) | undefined> {
    return options.slots?.take(either(retired.signal, signal)).catch(() => {
      requireOpen();
      throw withdrawal();
    });
  }

  function end(part: (sandbox: LiveSandbox) => Promise<void>): Promise<void> {
    closing ??= (async () => {
      retire();
      const sandbox = current;
      current = undefined;
      options.onClosed();
      const late = await reopening?.catch(() => undefined);
      await Promise.all([sandbox, late].map((held) => held && part(held)));
      await options.onEnded?.();
      await queue;
      // A log that cannot be removed is no reason for a session to stay; the next start of a server tries again.
      await rm(options.logFolder, { recursive: true, force: true }).catch(() => {});
      move('closed');
    })();
    return closing;
  }

  function move(event: Parameters<typeof transition>[1]): void {
    state = transition(state, event) ?? state;
  }

  return {
    id: options.id,
    spec: options.spec,
    first: options.first,
    logFolder: options.logFolder,
    state: () => state,
    retire,
    nextNumber: () => {
      executions += 1;
      return executions;
    },
    live,
    isolationOf: (sandbox) => ({ ...sandbox.sandbox.isolation, passedOver: options.passedOver }),

    async inOrder(work, { busy, signal }) {
      requireOpen();
      if (busy === 'refuse' && (state === 'busy' || waiting > 0)) {
        throw new HotcellError('session_busy', `the session ${options.id} runs an execution already`, {
          remedy: 'Wait for it, cancel it, or open another session.',
        });
      }
      waiting += 1;
      let hasBegun = false;
      const turn = queue.then(async () => {
        waiting -= 1;
        requireOpen();
        if (signal?.aborted === true) throw withdrawal();
        move('execution-began');
        let release: (() => void) | undefined;
        try {
          release = options.slots?.tryTake() ?? (await slot(signal));
          hasBegun = true;
          const sandbox = await live(signal);
          const restarted = lossReason;
          lossReason = undefined;
          return await work(sandbox, restarted);
        } finally {
          release?.();
          move('execution-ended');
        }
      });
      queue = turn.catch(() => {});
      turn.catch(() => {});
      return unlessWithdrawn(turn, signal, () => (hasBegun ? undefined : withdrawal()));
    },

    close: () => end((sandbox) => sandbox.dispose()),
    leave: () => end((sandbox) => sandbox.leave()),
  };
}

function withdrawal(): HotcellError {
  return new HotcellError('cancelled', 'the execution was withdrawn before it began');
}
