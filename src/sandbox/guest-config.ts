import type { FolderIdentity } from '../lib/held-folder.ts';
import { LAYER_HOOKS, LAYER_PROGRAMS } from './layers.ts';

/** The configuration of a guest, sent in its first `hello` (docs/guest-protocol.md, section 2). */
export interface GuestConfig {
  readonly limits: GuestLimits;
  readonly preloads: readonly string[];
  /** Complete environment of the sandbox. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * The environment in which the preloads are imported, if it is another one. SECURITY: it has no variable of the
   * session.
   */
  readonly preloadEnvironment?: Readonly<Record<string, string>>;
  /** The inner system call filter, base64 of a BPF program for the sandbox's architecture. */
  readonly seccomp?: string;
  /** Time between the steps of the interrupt ladder (docs/guest-protocol.md, section 7); a second when absent. */
  readonly interruptGraceMs?: number;
  readonly alone?: AloneLimits;
  /** The folders that must be mounted; the guest checks them first. Absent if the driver has another proof. */
  readonly mounts?: readonly ({ readonly target: string } & FolderIdentity)[];
}

/** Disconnect timeouts of a guest that accepts reconnections. */
export interface AloneLimits {
  /** Time after which the guest interrupts the running execution: its caller is gone, and with it the timeout. */
  readonly interruptAfterMs: number;
  readonly endAfterMs: number;
}

export interface GuestLimits {
  readonly memoryBytes: number;
  readonly openFiles: number;
  readonly fileBytes: number;
  readonly cpus: number;
  /** CPU affinity: pins all kernels to the same processors, as many as the sandbox may use. Set if there is no CPU quota. */
  readonly pinCpus?: boolean;
  /** A second filter for pinned kernels, base64: it refuses changes of the affinity, and further filters. */
  readonly pinnedSeccomp?: string;
  /** The process limit. Absent if a harder mechanism counts processes, or if the uid is shared with other sandboxes. */
  readonly processes?: number;
  /**
   * The memory limit of the guest's watchdog. Set if no cgroup kills at the limit, or if it would kill the whole
   * sandbox.
   */
  readonly memoryWatchdogBytes?: number;
}

/** The environment variables that every sandbox has. */
export function standardEnvironment(options: {
  path: string;
  /** Whether every Python that `path` leads to finds the layers by itself; otherwise PYTHONPATH leads it there. */
  findsLayers: boolean;
  extra?: Readonly<Record<string, string>>;
}): Record<string, string> {
  return {
    // Set from the start: a shell that runs when a layer arrives finds its programs, too.
    PATH: `${LAYER_PROGRAMS}:${options.path}`,
    ...(options.findsLayers ? {} : { PYTHONPATH: LAYER_HOOKS }),
    HOME: '/tmp',
    USER: 'sandbox',
    LOGNAME: 'sandbox',
    SHELL: '/bin/bash',
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    TMPDIR: '/tmp',
    MPLBACKEND: 'Agg',
    MPLCONFIGDIR: '/tmp/.matplotlib',
    PYTHONDONTWRITEBYTECODE: '1',
    // The zygote may have only one thread; a kernel sets its own number after the fork.
    OPENBLAS_NUM_THREADS: '1',
    OMP_NUM_THREADS: '1',
    // pyarrow, which pandas imports, would start a thread for its allocator.
    JE_ARROW_MALLOC_CONF: 'background_thread:false',
    // Without a network, installers fail at once instead of after several retries.
    PIP_RETRIES: '0',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    UV_HTTP_RETRIES: '0',
    npm_config_fetch_retries: '0',
    npm_config_update_notifier: 'false',
    ...options.extra,
  };
}
