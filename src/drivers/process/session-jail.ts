import type { FolderIdentity } from '../../lib/held-folder.ts';
import { COVERED_BELOW_KEPT, KEPT_PROC_ENTRIES } from '../../sandbox/proc-entries.ts';
import { inodesOf, type SandboxSpec, scratchBytesOf, tmpBytesOf } from '../../sandbox/spec.ts';

/** The mounts of one session (guest: start/jail.py). */
export interface SessionJail {
  readonly diskBytes: number;
  readonly tmpBytes: number;
  readonly shmBytes: number;
  readonly inodes: number;
  /** Names in /proc that stay visible beside processes, and paths below them that are masked. */
  readonly proc: { readonly kept: readonly string[]; readonly covered: readonly string[] };
  /** Each mount with the identity of the folder that must be at its index. */
  readonly mounts: readonly ({ index: number; target: string } & FolderIdentity)[];
}

/** The sizes of a session's file systems. All of them are in memory and count towards its limit. */
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
