import type { FolderIdentity } from '../lib/held-folder.ts';
import type { AloneLimits } from './guest-config.ts';

/** What a sandbox is to be: decided above, carried out by a driver. */
export interface SandboxSpec {
  /** Unique on this host; safe in names and paths. */
  readonly id: string;
  /** Sandboxes of different owners share nothing, not even a zygote. */
  readonly owner: string;
  /** A container image; the driver's standard one when absent. The process driver has none. */
  readonly image?: string;
  readonly limits: Limits;
  readonly mounts: readonly Mount[];
  /** Modules that kernels are forked with. What is not installed is left out. */
  readonly preloads: readonly string[];
  /** Where the workspace is inside; `WORKSPACE` when absent. */
  readonly workspace?: string;
  /** Of /tmp and of /var/tmp; a quarter of the memory when absent. */
  readonly tmpBytes?: number;
  /** It outlives its server, for so long. Only for drivers that can `adopt`. */
  readonly persistent?: AloneLimits;
  /** Time between the steps of the interrupt ladder; a second when absent. The test suite shortens it. */
  readonly interruptGraceMs?: number;
  /** Environment variables inside, on top of the standard ones. */
  readonly environment: Readonly<Record<string, string>>;
}

export const WORKSPACE = '/workspace';

export interface Limits {
  /** All memory of the sandbox: its processes and its files, which live in memory too. */
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly processes: number;
  readonly openFiles: number;
  readonly fileBytes: number;
  /** Of the workspace. */
  readonly diskBytes: number;
}

/** Something of the host's at a path inside. */
export interface Bind {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/** A folder that a caller mounts. Already checked against the allowed roots, with links resolved. */
export interface Mount extends Bind {
  /**
   * The folder that was checked. SECURITY: `source` may lead elsewhere by the time it is bound, so a driver gives out no sandbox before it has seen that
   * what is bound is this folder. The caller of `create` holds the folder open meanwhile.
   */
  readonly identity: FolderIdentity;
}

const MiB = 1_048_576;
const INODES_PER_MIB = 256;
const LEAST_INODES = 4096;

/** Folders for what is not kept live in memory too. */
export function tmpBytesOf({ tmpBytes, limits }: Pick<SandboxSpec, 'tmpBytes' | 'limits'>): number {
  return Math.floor(tmpBytes ?? scratchBytesOf(limits));
}

/** Of /dev/shm, and of what else is not the workspace. */
export function scratchBytesOf({ memoryBytes }: Limits): number {
  return Math.max(MiB, Math.floor(memoryBytes / 4));
}

/** What sockets may hold that is sent and not read yet, where that is not counted as memory of the sandbox (cgroup v1). */
export function socketBytesOf({ memoryBytes }: Pick<Limits, 'memoryBytes'>): number {
  return Math.max(8 * MiB, Math.floor(memoryBytes / 8));
}

/** How many files a file system of the sandbox may hold: each costs memory that its size does not count. */
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

/** Below this a kernel cannot live, and an error at once is kinder than an out-of-memory later. */
export const LEAST_LIMITS: Limits = {
  memoryBytes: 64 * MiB,
  cpus: 0.05,
  processes: 8,
  openFiles: 32,
  fileBytes: 4096,
  diskBytes: MiB,
};
