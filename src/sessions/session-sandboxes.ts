import { type LiveSandbox, openLiveSandbox } from '../guest/live-sandbox.ts';
import { either } from '../lib/abort.ts';
import { newId } from '../lib/ids.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import type { HeldMounts } from './held-mounts.ts';
import type { PersistencePlan } from './persistence-plan.ts';

/** Makes the sandboxes of one session, one at a time. Each rejects with a HotcellError, with nothing left. Called by `live-sessions.ts`. */
export interface SessionSandboxes {
  /** The one it begins with; of a session that another server left, the one it lives in. Ends with the opening's signal. */
  first(driver: Driver): Promise<LiveSandbox>;
  /** Another, after a loss. */
  next(driver: Driver): Promise<LiveSandbox>;
}

export interface SandboxesOptions {
  readonly spec: SandboxSpec;
  readonly held: Pick<HeldMounts, 'requireSame' | 'requireAllowed'>;
  readonly persistence: PersistencePlan | undefined;
  readonly startTimeoutMs: number;
  /** Nothing is made any more. */
  readonly stop: AbortSignal;
  /** Whoever opens the session withdraws. */
  readonly signal: AbortSignal | undefined;
}

export function createSessionSandboxes(options: SandboxesOptions): SessionSandboxes {
  const { spec, held, persistence, startTimeoutMs, stop, signal } = options;

  async function make(driver: Driver, id: string, { adopt = false, signal = stop } = {}): Promise<LiveSandbox> {
    // One that is taken over has its folders bound already.
    if (!adopt) await held.requireSame();
    const its = { ...spec, id };
    await persistence?.keep(its, driver.name);
    const live = await openLiveSandbox(driver, its, startTimeoutMs, { adopt, signal });
    if (adopt) await endUnlessAllowed(live);
    return live;
  }

  /** SECURITY: one that was taken over ends here where one of its folders has been denied since; else it would have it for ever. One with folders outside the roots is not taken over at all. */
  async function endUnlessAllowed(live: LiveSandbox): Promise<void> {
    try {
      held.requireAllowed();
    } catch (error) {
      await live.dispose();
      throw error;
    }
  }

  return {
    // The session's own id, so that a person finds it; one that replaces it must not meet its remains.
    first: (driver) => {
      const resumed = persistence?.resume?.spec.id;
      return make(driver, resumed ?? spec.id, { adopt: resumed !== undefined, signal: either(stop, signal) });
    },
    next: (driver) => make(driver, newId('s')),
  };
}
