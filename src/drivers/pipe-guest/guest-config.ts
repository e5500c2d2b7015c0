import { expectedMounts } from '../../sandbox/expected-mounts.ts';
import { type GuestConfig, standardEnvironment } from '../../sandbox/guest-config.ts';
import { seccompFilter } from '../../sandbox/seccomp.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';
import type { ReadyLine } from './ready-line.ts';

/**
 * The share of the memory limit at which the guest's watchdog acts. At the limit itself, a runtime with its own kernel
 * kills the whole sandbox.
 */
const WATCHDOG_SHARE = 0.9;

/** Facts about the kernel that sandboxes run on. */
export interface KernelBelow {
  /** Whether each sandbox has its own kernel, as under gVisor or in a microVM. */
  readonly ownKernel: boolean;
}

/**
 * The configuration of a guest that was sent through a pipe: the limits that it enforces itself, and facts that its
 * image reported.
 */
export function pipedGuestConfig(
  spec: SandboxSpec,
  { ownKernel }: KernelBelow,
  { path, architecture, findsLayers }: ReadyLine,
): GuestConfig {
  const { memoryBytes, openFiles, fileBytes, cpus, processes } = spec.limits;
  const memoryWatchdogBytes = Math.floor(memoryBytes * WATCHDOG_SHARE);
  return {
    limits: {
      ...{ memoryBytes, openFiles, fileBytes, cpus },
      ...(ownKernel ? { processes, memoryWatchdogBytes } : {}),
    },
    preloads: spec.preloads,
    // A runtime with its own kernel has its own inode numbers, so its mounts are bound by descriptor. On macOS and
    // Windows the engine's virtual machine has its own, too.
    ...(!ownKernel && process.platform === 'linux' ? expectedMounts(spec.mounts) : {}),
    environment: standardEnvironment({ path, findsLayers, extra: spec.environment }),
    preloadEnvironment: standardEnvironment({ path, findsLayers }),
    interruptGraceMs: spec.interruptGraceMs,
    ...(spec.persistent === undefined ? {} : { alone: spec.persistent }),
    // SECURITY: this filter protects the supervisor from the code that it runs, in addition to the engine's filter
    // (seccomp-profile.ts); under gVisor it is the only one.
    ...(architecture === undefined ? {} : { seccomp: seccompFilter(architecture, { ownKernel }).toString('base64') }),
  };
}
