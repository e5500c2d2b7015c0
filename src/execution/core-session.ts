import type { LiveSandbox } from '../guest/live-sandbox.ts';
import type { Isolation } from '../sandbox/isolation.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';

/** What an execution needs of the session it runs in: one sandbox at a time, and a turn. `sessions/session.ts` makes it. */
export interface CoreSession {
  readonly id: string;
  readonly spec: SandboxSpec;
  readonly logFolder: string;
  /** Counts its executions, from 1: the name of each in tracebacks. */
  nextNumber(): number;
  /** Runs `work` when every earlier one is done. `busy: 'refuse'` rejects instead of waiting. */
  inOrder<T>(
    work: (live: LiveSandbox, restarted: string | undefined) => Promise<T>,
    options: { busy: 'wait' | 'refuse'; signal?: AbortSignal },
  ): Promise<T>;
  /** The sandbox as it is now, for what need not wait for an execution: files, interrupts. */
  live(signal?: AbortSignal): Promise<LiveSandbox>;
  isolationOf(live: LiveSandbox): Isolation;
  close(): Promise<void>;
}
