import type { Duplex } from 'node:stream';
import type { HotcellError } from '../errors/hotcell-error.ts';
import type { GuestConfig } from './guest-config.ts';
import type { DriverName, Isolation } from './isolation.ts';
import type { SandboxSpec } from './spec.ts';
import type { DriverTraits } from './traits.ts';

/**
 * One way to isolate code. A driver enforces isolation and moves bytes; it knows nothing of sessions, executions or policy.
 * Called by `sessions/`, which owns time limits, pools and retries.
 */
export interface Driver {
  readonly name: DriverName;

  /** The capabilities that callers ask about, as declared in the registry. A request for one that is missing never reaches `create`. */
  readonly traits: DriverTraits;

  /**
   * What this driver can do on this host, by a real trial where nothing less proves it. Changes nothing that outlives the call. Never
   * rejects: what cannot be tried is unavailable, with a reason and a remedy that a person can paste.
   */
  probe(options?: { signal?: AbortSignal }): Promise<Probe>;

  /**
   * A sandbox whose guest listens on the channel. All or nothing: when it rejects (a HotcellError, within the caller's signal),
   * nothing of it is left on the host. `warm` is for a pool, which has time: wait until what kernels are forked from has its preloads.
   */
  create(spec: SandboxSpec, options?: CreateOptions): Promise<Sandbox>;

  /**
   * Where sandboxes can outlive their server (`traits.persistence`): takes over the one of `spec.id`, whose server is gone. The caller ensures
   * that no other server does. Rejects with `sandbox_lost` where it no longer runs, with nothing left of it.
   */
  adopt?(spec: SandboxSpec, options?: { signal?: AbortSignal }): Promise<Sandbox>;

  /**
   * Sandboxes left by a crashed server of this installation. A sandbox whose server still lives is never among them: two servers of
   * one installation on one host must not touch each other's. Nor is the sandbox of a persistent session (`host.isKept`).
   */
  survivors(): Promise<readonly Survivor[]>;

  /** Resolves when the driver is not preparing a sandbox ahead of time. */
  settled?(): Promise<void>;

  /** Ends every sandbox of this driver and their shared resources. Idempotent. */
  close(): Promise<void>;
}

export interface CreateOptions {
  readonly signal?: AbortSignal;
  readonly warm?: boolean;
}

export interface Sandbox {
  readonly id: string;
  readonly isolation: Omit<Isolation, 'passedOver'>;
  /** The channel to the guest, the only connection to the sandbox. The caller of `create` owns it; when it ends, the sandbox ends, unless there is `reconnect`. */
  readonly channel: Duplex;
  /** Opens a new channel to the guest, which keeps running. Rejects if the sandbox has ended. */
  reconnect?(options?: { signal?: AbortSignal }): Promise<Duplex>;
  /** Releases the sandbox without ending it, for a later `adopt`. Resolves when this process holds no resource of it. */
  leave?(): Promise<void>;
  /** The configuration for the guest's first `hello`. Absent for an adopted sandbox: its guest is configured. */
  readonly guestConfig?: GuestConfig;
  /** When and how the sandbox ended. Never rejects. */
  readonly ended: Promise<SandboxEnd>;
  /** Why it ended before its guest answered, where the driver knows more of it than that the channel closed. Never rejects. */
  startFailure?(): Promise<HotcellError | undefined>;
  usage(): Promise<Usage>;
  /** Kills every process of the sandbox and cleans up. Resolves when nothing is left; idempotent. */
  dispose(): Promise<void>;
}

export type SandboxEnd =
  | { readonly kind: 'disposed' }
  | { readonly kind: 'exited'; readonly detail: string }
  | { readonly kind: 'out-of-memory' }
  | { readonly kind: 'lost'; readonly detail: string };

export interface Usage {
  readonly memoryBytes?: number;
  /** Number of processes that the memory limit has killed so far (OOM kills). If the driver cannot see them, the guest does. */
  readonly memoryKills?: number;
}

export type Probe =
  | {
      readonly driver: DriverName;
      readonly available: true;
      readonly isolation: Omit<Isolation, 'passedOver'>;
      readonly notes: readonly string[];
    }
  | { readonly driver: DriverName; readonly available: false; readonly reason: string; readonly remedy: string };

export interface Survivor {
  readonly id: string;
  readonly serverId: string;
  dispose(): Promise<void>;
}
