import { type SandboxSpec, scratchBytesOf, tmpBytesOf } from '../../sandbox/spec.ts';

const INODES_PER_MIB = 256;
const MiB = 1_048_576;

/** What a session's own mounts are to be (guest: jail.py). */
export interface SessionJail {
  readonly diskBytes: number;
  readonly tmpBytes: number;
  readonly shmBytes: number;
  readonly inodes: number;
  readonly mounts: readonly { index: number; target: string }[];
}

/** The sizes of a session's own file systems. All of them are memory, and count towards its limit. */
export function sessionJail(spec: SandboxSpec): SessionJail {
  const { diskBytes } = spec.limits;
  return {
    diskBytes,
    tmpBytes: tmpBytesOf(spec),
    shmBytes: scratchBytesOf(spec.limits),
    inodes: Math.max(4096, Math.floor(diskBytes / MiB) * INODES_PER_MIB),
    mounts: spec.mounts.map(({ target }, index) => ({ index, target })),
  };
}
