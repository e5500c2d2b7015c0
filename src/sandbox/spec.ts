import type { FolderIdentity } from '../lib/held-folder.ts';
import type { AloneLimits } from './guest-config.ts';

/** The specification of a sandbox. Sessions decide it, a driver implements it. */
export interface SandboxSpec {
  /** Id, unique on this host; safe in names and paths. */
  readonly id: string;
  /** Owner. Sandboxes of different owners share nothing, not even a zygote. */
  readonly owner: string;
  /** Container image; the driver's standard one by default. The process driver has none. */
  readonly image?: string;
  readonly limits: Limits;
  readonly mounts: readonly Mount[];
  /** Modules that kernels are forked with. Missing modules are skipped. */
  readonly preloads: readonly string[];
  /** Path of the workspace in the sandbox; `WORKSPACE` by default. */
  readonly workspace?: string;
  /** Size of /tmp and of /var/tmp; a quarter of the memory by default. */
  readonly tmpBytes?: number;
  /** Disconnect timeouts of a sandbox that survives its server. Only for drivers with `adopt`. */
  readonly persistent?: AloneLimits;
  /** Time between the steps of the interrupt ladder; a second when absent. The test suite shortens it. */
  readonly interruptGraceMs?: number;
  /** Environment variables of the sandbox, in addition to the standard ones. */
  readonly environment: Readonly<Record<string, string>>;
}

export const WORKSPACE = '/workspace';

export interface Limits {
  /** Memory of the sandbox: its processes and its files, which are in memory. */
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly processes: number;
  readonly openFiles: number;
  readonly fileBytes: number;
  /** Size of the workspace. */
  readonly diskBytes: number;
}

/** A path of the host at a path in the sandbox. */
export interface Bind {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/** A folder that a caller mounts. Already checked against the allowed roots, with links resolved. */
export interface Mount extends Bind {
  /**
   * The folder that was checked. SECURITY: `source` may lead elsewhere by the time it is bound, so a driver must verify
   * that the bound folder is this one before it returns the sandbox. The caller of `create` holds the folder open
   * meanwhile.
   */
  readonly identity: FolderIdentity;
}

const MiB = 1_048_576;
const INODES_PER_MIB = 256;
const LEAST_INODES = 4096;

/** Size of the temporary folders, which are in memory. */
export function tmpBytesOf({ tmpBytes, limits }: Pick<SandboxSpec, 'tmpBytes' | 'limits'>): number {
  return Math.floor(tmpBytes ?? scratchBytesOf(limits));
}

/** Size of /dev/shm and of other folders besides the workspace. */
export function scratchBytesOf({ memoryBytes }: Limits): number {
  return Math.max(MiB, Math.floor(memoryBytes / 4));
}

/** Limit of socket buffers (sent and unread), where they do not count as memory of the sandbox (cgroup v1). */
export function socketBytesOf({ memoryBytes }: Pick<Limits, 'memoryBytes'>): number {
  return Math.max(8 * MiB, Math.floor(memoryBytes / 8));
}

/** Number of inodes of a file system of the sandbox: each uses memory that the size limit does not count. */
export function inodesOf({ diskBytes }: Limits): number {
  return Math.max(LEAST_INODES, Math.floor(diskBytes / MiB) * INODES_PER_MIB);
}

export const DEFAULT_LIMITS: Limits = {
  memoryBytes: 2048 * MiB,
  cpus: 1,
  processes: 256,
  openFiles: 1024,
  fileBytes: 1024 * MiB,
  diskBytes: 1024 * MiB,
};

/** Minimum limits: below them a kernel cannot run, and an error at once is better than an out-of-memory later. */
export const LEAST_LIMITS: Limits = {
  memoryBytes: 64 * MiB,
  cpus: 0.05,
  processes: 8,
  openFiles: 32,
  fileBytes: 4096,
  diskBytes: MiB,
};
