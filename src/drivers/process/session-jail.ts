import type { SandboxSpec } from '../../sandbox/spec.ts';
import type { SessionJail } from './zygote.ts';

const INODES_PER_MIB = 256;
const MiB = 1_048_576;

/** The sizes of a session's own file systems. All of them are memory, and count towards its limit. */
export function sessionJail(spec: SandboxSpec): SessionJail {
  const { diskBytes, memoryBytes } = spec.limits;
  const scratchBytes = Math.max(MiB, Math.floor(memoryBytes / 4));
  return {
    diskBytes,
    tmpBytes: scratchBytes,
    shmBytes: scratchBytes,
    inodes: Math.max(4096, Math.floor(diskBytes / MiB) * INODES_PER_MIB),
    mounts: spec.mounts.map(({ target }, index) => ({ index, target })),
  };
}
