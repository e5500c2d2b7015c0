import type { FolderIdentity } from '../../lib/held-folder.ts';
import { COVERED_BELOW_KEPT, KEPT_PROC_ENTRIES } from '../../sandbox/proc-entries.ts';
import { inodesOf, type SandboxSpec, scratchBytesOf, tmpBytesOf } from '../../sandbox/spec.ts';

/** What a session's own mounts are to be (guest: start/jail.py). */
export interface SessionJail {
  readonly diskBytes: number;
  readonly tmpBytes: number;
  readonly shmBytes: number;
  readonly inodes: number;
  /** Names in /proc that stay visible beside those of processes, and paths below them that do not. */
  readonly proc: { readonly kept: readonly string[]; readonly covered: readonly string[] };
  /** Each with the folder that must be at its index. */
  readonly mounts: readonly ({ index: number; target: string } & FolderIdentity)[];
}

/** The sizes of a session's own file systems. All of them are memory, and count towards its limit. */
export function sessionJail(spec: SandboxSpec): SessionJail {
  return {
    diskBytes: spec.limits.diskBytes,
    tmpBytes: tmpBytesOf(spec),
    shmBytes: scratchBytesOf(spec.limits),
    inodes: inodesOf(spec.limits),
    proc: { kept: KEPT_PROC_ENTRIES, covered: COVERED_BELOW_KEPT },
    mounts: spec.mounts.map(({ target, identity }, index) => ({ index, target, ...identity })),
  };
}
