import { diskEnforcement } from '../../sandbox/disk-enforcement.ts';
import type { LimitEnforcement } from '../../sandbox/isolation.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';
import type { ContainerRuntime } from './container-config.ts';

/** The mechanism that enforces each limit of a container, and its strength. */
export function containerEnforcement(
  runtime: ContainerRuntime,
  spec: Pick<SandboxSpec, 'mounts' | 'workspace'>,
): LimitEnforcement {
  return {
    memory:
      runtime.ownKernel === undefined
        ? { strength: 'hard', by: "the container's cgroup" }
        : { strength: 'hard', by: "a watchdog inside, and the container's cgroup behind it" },
    cpu: { strength: 'hard', by: "the container's cgroup" },
    processes:
      runtime.ownKernel === undefined
        ? { strength: 'hard', by: "the container's cgroup" }
        : { strength: 'hard', by: "RLIMIT_NPROC of the sandbox's own kernel" },
    openFiles: { strength: 'hard', by: 'RLIMIT_NOFILE, each process' },
    fileSize: { strength: 'hard', by: 'RLIMIT_FSIZE' },
    disk: diskEnforcement(spec),
  };
}
