import { diskEnforcement } from '../../sandbox/disk-enforcement.ts';
import type { LimitEnforcement } from '../../sandbox/isolation.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';

/** The mechanism that enforces each limit of a jail, and its strength. */
export function enforcement(
  cgroups: 'v1' | 'v2' | undefined,
  spec: Pick<SandboxSpec, 'mounts' | 'workspace'>,
): LimitEnforcement {
  const common: Pick<LimitEnforcement, 'openFiles' | 'fileSize' | 'disk'> = {
    openFiles: { strength: 'hard', by: 'RLIMIT_NOFILE, each process' },
    fileSize: { strength: 'hard', by: 'RLIMIT_FSIZE' },
    disk: diskEnforcement(spec),
  };
  if (cgroups !== undefined) {
    const by = `cgroup ${cgroups}`;
    return {
      memory: { strength: 'hard', by },
      cpu: { strength: 'hard', by },
      processes: { strength: 'hard', by },
      ...common,
    };
  }
  return {
    memory: { strength: 'soft', by: 'RLIMIT_DATA, and a watchdog on resident memory' },
    cpu: { strength: 'soft', by: 'processor affinity' },
    processes: { strength: 'soft', by: 'RLIMIT_NPROC' },
    ...common,
  };
}
