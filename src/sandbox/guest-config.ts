import type { FolderIdentity } from '../lib/held-folder.ts';

/** The configuration of a guest, sent in its first `hello` (docs/guest-protocol.md, section 2). */
export interface GuestConfig {
  readonly limits: GuestLimits;
  readonly preloads: readonly string[];
  /** Complete environment of the sandbox. */
  readonly environment: Readonly<Record<string, string>>;
  /** The inner system call filter, base64 of a BPF program for the sandbox's architecture. */
  readonly seccomp?: string;
  /** Time between the steps of the interrupt ladder (docs/guest-protocol.md, section 7); a second when absent. */
  readonly interruptGraceMs?: number;
  readonly alone?: AloneLimits;
  /** The folders that must be mounted, to be compared before anything else. Absent where the driver has another proof. */
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
  /** A second filter for a kernel that was pinned, base64: it refuses to change that, and further filters. */
  readonly pinnedSeccomp?: string;
  /** Absent where something harder counts processes, or where the uid is shared with other sandboxes. */
  readonly processes?: number;
  /** Present where no cgroup kills at the limit, or where it would kill the whole sandbox. */
  readonly memoryWatchdogBytes?: number;
}

/** The environment variables that every sandbox has. */
export function standardEnvironment(options: {
  path: string;
  extra?: Readonly<Record<string, string>>;
}): Record<string, string> {
  return {
    PATH: options.path,
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
    // The zygote may have one thread only; a kernel gets its own number after the fork.
    OPENBLAS_NUM_THREADS: '1',
    OMP_NUM_THREADS: '1',
    // pyarrow, which pandas imports, would start one for its allocator.
    JE_ARROW_MALLOC_CONF: 'background_thread:false',
    ...options.extra,
  };
}
