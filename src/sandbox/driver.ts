import type { Duplex } from 'node:stream';
import type { HotcellError } from '../errors/hotcell-error.ts';
import type { GuestConfig } from './guest-config.ts';
import type { DriverName, Isolation } from './isolation.ts';
import type { LayersFolder } from './layers.ts';
import type { SandboxSpec } from './spec.ts';
import type { DriverTraits } from './traits.ts';

/**
 * One way to isolate code. A driver enforces isolation and moves bytes; it knows nothing of sessions, executions or policy.
 * Called by `sessions/`, which owns time limits, pools and retries.
 */
export interface Driver {
  readonly name: DriverName;

  /**
   * The capabilities that callers check, as declared in the registry. A request for a missing one never reaches
   * `create`.
   */
  readonly traits: DriverTraits;

  /**
   * Checks what this driver can do on this host, by a real trial if nothing less proves it. Changes nothing that
   * outlives the call. Never rejects: a driver that cannot be tried is unavailable, with a reason and a remedy that a
   * person can paste.
   */
  probe(options?: { signal?: AbortSignal }): Promise<Probe>;

  /**
   * Creates a sandbox whose guest listens on the channel. All or nothing: when it rejects (with a HotcellError, within
   * the caller's signal), nothing of it is left on the host. `warm` is for a pool, which has time: it waits until the
   * parent of kernels has its preloads.
   */
  create(spec: SandboxSpec, options?: CreateOptions): Promise<Sandbox>;

  /**
   * Identifies the files that a sandbox of this image begins with: equal texts mean the same interpreter and packages.
   * Starts nothing, and is quick. Undefined if that cannot be told.
   */
  identify?(image: string | undefined, options?: { signal?: AbortSignal }): Promise<string | undefined>;

  /**
   * Adopts the sandbox of `spec.id`, whose server is gone; only for drivers with `traits.persistence`. The caller
   * ensures that no other server does the same. Rejects with `sandbox_lost` if the sandbox no longer runs, after
   * cleaning up.
   */
  adopt?(spec: SandboxSpec, options?: { signal?: AbortSignal }): Promise<Sandbox>;

  /**
   * Ends the sandbox of `spec.id`, whose server is gone, without connecting to it: its guest may be unable or unwilling
   * to answer. For drivers with `adopt`, under the same condition. Resolves when nothing of it is left.
   */
  discard?(spec: SandboxSpec, options?: { signal?: AbortSignal }): Promise<void>;

  /**
   * Sandboxes left by a crashed server of this installation. Sandboxes of a live server are never among them: two
   * servers of one installation on one host must not touch each other's. Nor are sandboxes of persistent sessions
   * (`host.isKept`).
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
  /**
   * The channel to the guest, the only connection to the sandbox. The caller of `create` owns it. When it ends, the
   * sandbox ends, unless it has `reconnect`.
   */
  readonly channel: Duplex;
  /** Opens a new channel to the guest, which keeps running. Rejects if the sandbox has ended. */
  reconnect?(options?: { signal?: AbortSignal }): Promise<Duplex>;
  /** Releases the sandbox without ending it, for a later `adopt`. Resolves when this process holds no resource of it. */
  leave?(): Promise<void>;
  /**
   * The configuration for the guest's first `hello`. Absent for an adopted sandbox, whose guest is configured already.
   */
  readonly guestConfig?: GuestConfig;
  /**
   * The sandbox's own folder of layers, bound read-only. It is empty at first and removed with the sandbox. Absent if
   * the sandbox cannot see folders of this host: its layers are sent over the channel then.
   */
  readonly layers?: LayersFolder;
  /** When and how the sandbox ended. Never rejects. */
  readonly ended: Promise<SandboxEnd>;
  /**
   * Why the sandbox ended before its guest answered, if the driver knows more than that the channel closed. Never
   * rejects.
   */
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
