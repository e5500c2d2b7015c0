import { type LiveSandbox, openLiveSandbox } from '../guest/live-sandbox.ts';
import { either } from '../lib/abort.ts';
import { newId } from '../lib/ids.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import type { HeldMounts } from './held-mounts.ts';
import type { KeptWithSandbox, PersistencePlan } from './persistence-plan.ts';

/**
 * Creates the sandboxes of one session, one at a time. Each method rejects with a HotcellError, without leftovers.
 * Called by `live-sessions.ts`.
 */
export interface SessionSandboxes {
  /** The first sandbox; for a session that another server left, the existing one. The opening's signal aborts it. */
  first(driver: Driver): Promise<LiveSandbox>;
  /** Another sandbox, after a loss. */
  next(driver: Driver): Promise<LiveSandbox>;
  /** Writes the record of a persistent session again, because its network setting or its packages have changed. */
  keep(): Promise<void>;
}

export interface SandboxesOptions {
  readonly spec: SandboxSpec;
  readonly held: Pick<HeldMounts, 'registered' | 'requireSame' | 'requireAllowed'>;
  readonly persistence: PersistencePlan | undefined;
  /** The network setting, the services and the packages of the session, for its record. */
  readonly kept: () => Omit<KeptWithSandbox, 'registered'>;
  readonly startTimeoutMs: number;
  /** A signal that stops all creation. */
  readonly stop: AbortSignal;
  /** The signal of the caller that opens the session. */
  readonly signal: AbortSignal | undefined;
}

export function createSessionSandboxes(options: SandboxesOptions): SessionSandboxes {
  const { spec, held, persistence, kept, startTimeoutMs, stop, signal } = options;
  let write = async () => {};
  let writing: Promise<void> = Promise.resolve();

  /** One at a time: each replaces the same file. */
  function keep(): Promise<void> {
    writing = writing.catch(() => {}).then(write);
    return writing;
  }

  async function make(driver: Driver, id: string, { adopt = false, signal = stop } = {}): Promise<LiveSandbox> {
    // An adopted sandbox has its folders bound already.
    if (!adopt) await held.requireSame();
    const its = { ...spec, id };
    write = async () => persistence?.keep(its, driver.name, { registered: held.registered, ...kept() });
    if (persistence !== undefined) await keep();
    const live = await openLiveSandbox(driver, its, startTimeoutMs, { adopt, signal, onCreated: loadSession });
    if (adopt) await endUnlessAllowed(live);
    return live;
  }

  /**
   * SECURITY: an adopted sandbox ends here if one of its folders has been denied since; otherwise it would keep access
   * for ever. A sandbox with folders outside the roots is not adopted at all.
   */
  async function endUnlessAllowed(live: LiveSandbox): Promise<void> {
    try {
      held.requireAllowed();
    } catch (error) {
      await live.dispose();
      throw error;
    }
  }

  return {
    // The first sandbox has the session's own id, so that a person finds it; a replacement has a new one, so that it
    // cannot clash with leftovers.
    first: (driver) => {
      const resumed = persistence?.resume?.spec.id;
      return make(driver, resumed ?? spec.id, { adopt: resumed !== undefined, signal: either(stop, signal) });
    },
    next: (driver) => make(driver, newId('s')),
    keep,
  };
}

/** Imports the public session while the guest starts. A failure is reported by the next import. */
function loadSession(): void {
  import('./session.ts').catch(() => {});
}
