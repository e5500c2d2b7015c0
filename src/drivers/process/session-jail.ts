import { type SandboxSpec, scratchBytesOf, tmpBytesOf } from '../../sandbox/spec.ts';
import type { SessionJail } from './zygote.ts';

const INODES_PER_MIB = 256;
const MiB = 1_048_576;

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
