import { expectedMounts } from '../../sandbox/expected-mounts.ts';
import { type GuestConfig, standardEnvironment } from '../../sandbox/guest-config.ts';
import { seccompFilter } from '../../sandbox/seccomp.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';
import type { ReadyLine } from './ready-line.ts';

/** A runtime with a kernel of its own kills the whole sandbox at the limit; the guest acts before that. */
const WATCHDOG_SHARE = 0.9;

/** What the driver knows of the kernel below its sandboxes. */
export interface KernelBelow {
  /** Whether each sandbox has a kernel of its own, as under gVisor or in a microVM. */
  readonly ownKernel: boolean;
}

/** What a guest that came through a pipe is told: the limits that it holds itself, and what its image said of itself. */
export function pipedGuestConfig(
  spec: SandboxSpec,
  { ownKernel }: KernelBelow,
  { path, architecture }: ReadyLine,
): GuestConfig {
  const { memoryBytes, openFiles, fileBytes, cpus, processes } = spec.limits;
  const memoryWatchdogBytes = Math.floor(memoryBytes * WATCHDOG_SHARE);
  return {
    limits: {
      ...{ memoryBytes, openFiles, fileBytes, cpus },
      ...(ownKernel ? { processes, memoryWatchdogBytes } : {}),
    },
    preloads: spec.preloads,
    // A kernel of its own has inode numbers of its own, so its mounts are made by descriptor. On macOS and Windows the engine's machine has its own as well.
    ...(!ownKernel && process.platform === 'linux' ? expectedMounts(spec.mounts) : {}),
    environment: standardEnvironment({ path, extra: spec.environment }),
    interruptGraceMs: spec.interruptGraceMs,
    ...(spec.persistent === undefined ? {} : { alone: spec.persistent }),
    // SECURITY: protects the supervisor from what it runs, beside what the engine's filter holds (seccomp-profile.ts); under gVisor it is the only one.
    ...(architecture === undefined ? {} : { seccomp: seccompFilter(architecture, { ownKernel }).toString('base64') }),
  };
}
