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
   * Where sandboxes can outlive their server (`traits.persistence`): takes over the one of `spec.id`, whose server is gone. The caller made
   * sure that nobody else does. Rejects with `sandbox_lost` where it no longer runs, with nothing left of it.
   */
  adopt?(spec: SandboxSpec, options?: { signal?: AbortSignal }): Promise<Sandbox>;

  /**
   * What outlived a crashed server of this installation. A sandbox whose server still lives is never among them: two servers of
   * one installation on one host must not touch each other's. Nor is one that somebody means to come back to (`host.isKept`).
   */
  survivors(): Promise<readonly Survivor[]>;

  /** Resolves when nothing is being made ahead, where a driver does that. */
  settled?(): Promise<void>;

  /** Ends every sandbox of this driver and what they shared. Safe to repeat. */
  close(): Promise<void>;
}

export interface CreateOptions {
  readonly signal?: AbortSignal;
  readonly warm?: boolean;
}

export interface Sandbox {
  readonly id: string;
  readonly isolation: Omit<Isolation, 'passedOver'>;
  /** The one way in. Owned by whoever called `create`; its end is the sandbox's end, unless there is `reconnect`. */
  readonly channel: Duplex;
  /** A new channel to the guest, which goes on meanwhile. Rejects where the sandbox has ended. */
  reconnect?(options?: { signal?: AbortSignal }): Promise<Duplex>;
  /** Lets go of it without ending it, for a later `adopt`. Resolves when nothing here holds it. */
  leave?(): Promise<void>;
  /** What the guest must be told in its first `hello`. Absent for one that was adopted: its guest knows. */
  readonly guestConfig?: GuestConfig;
  /** When and how the sandbox ended. Never rejects. */
  readonly ended: Promise<SandboxEnd>;
  /** Why it ended before its guest answered, where the driver knows more of it than that the channel closed. Never rejects. */
  startFailure?(): Promise<HotcellError | undefined>;
  usage(): Promise<Usage>;
  /** Kills every process of the sandbox and removes what it left. Resolves when nothing is left; safe to repeat. */
  dispose(): Promise<void>;
}

export type SandboxEnd =
  | { readonly kind: 'disposed' }
  | { readonly kind: 'exited'; readonly detail: string }
  | { readonly kind: 'out-of-memory' }
  | { readonly kind: 'lost'; readonly detail: string };

export interface Usage {
  readonly memoryBytes?: number;
  /** How many processes the memory limit has killed so far. Where the driver cannot see it, the guest does. */
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
