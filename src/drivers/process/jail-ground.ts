import { dirname } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { findHostProgram } from '../../lib/find-program.ts';
import { expectedMounts } from '../../sandbox/expected-mounts.ts';
import { type GuestConfig, standardEnvironment } from '../../sandbox/guest-config.ts';
import type { Host } from '../../sandbox/host.ts';
import { type Architecture, pinnedFilter, seccompFilter } from '../../sandbox/seccomp.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';
import type { JailLayout } from './bwrap-arguments.ts';
import { prepareJailLayout, pythonFolders } from './jail-layout.ts';
import { findNodeRuntime, NODE_FOLDER } from './node-runtime.ts';
import { findPythonEnvironment, type PythonEnvironment } from './python-environment.ts';
import { requireFreeTargets } from './reserved-targets.ts';
import type { ServerCgroups } from './server-cgroups.ts';
import { createUidBlocks, type UidBlock } from './session-uids.ts';
import type { ProcessShape } from './shape.ts';

/** What every jail of one server stands on: folders of the host, an interpreter, cgroups. Found when it is first needed, and kept. */
export interface JailGround {
  readonly host: Host;
  readonly cgroups: ServerCgroups;
  /** The system call filters that bubblewrap installs: of a zygote, and of a guest that has a jail to itself. */
  filters(): { readonly zygote: Buffer; readonly single: Buffer };
  /** The system call filter that the guest of a sandbox takes on top. */
  seccomp(): string;
  /** The uids of the jail for such a spec. Undefined where it runs as the uid that all such jails have in common. */
  uidsFor(spec: SandboxSpec): UidBlock | undefined;
  /** Rejects where sandboxes have no Python. */
  layout(spec: SandboxSpec): Promise<JailLayout>;
  /** SECURITY: what a zygote starts with. Nothing of any session's is in it: `OPENSSL_CONF` or `LD_PRELOAD` of one would make the zygote load its
   * code, and a secret of one would be in the memory of every later fork. */
  zygoteEnvironment(): Promise<Record<string, string>>;
  /** Rejects with `mount_denied` where a mount would cover the programs that sandboxes run. */
  requireFreeTargets(spec: SandboxSpec): Promise<void>;
  /** What the guest of a sandbox is told in its first `hello`. */
  guestConfig(spec: SandboxSpec, shape: ProcessShape): Promise<GuestConfig>;
}

export function createJailGround(host: Host, cgroups: ServerCgroups, nodeProgram?: string): JailGround {
  const architecture = process.arch as Architecture;
  const isSoft = () => cgroups.version() === undefined;
  const filters = once(() => ({
    zygote: seccompFilter(architecture, { makesSandboxes: true }),
    single: seccompFilter(architecture, { outer: true }),
  }));
  const seccomp = once(() => seccompFilter(architecture, { addsFilters: isSoft() }).toString('base64'));
  const pinnedSeccomp = pinnedFilter(architecture).toString('base64');
  const uids = createUidBlocks();
  let programs: Promise<string[]> | undefined;
  let finding: Promise<PythonEnvironment> | undefined;

  function pythonEnvironment(): Promise<PythonEnvironment> {
    finding ??= findPythonEnvironment({ dataDir: host.dataDir }).then((found) => {
      if (found !== undefined) return found;
      finding = undefined;
      throw new HotcellError('driver_unavailable', 'process: there is no Python for sandboxes', {
        remedy: 'Run `hotcell setup process`.',
      });
    });
    return finding;
  }

  async function programFolders(): Promise<string[]> {
    const node = await findNodeRuntime(host.dataDir, nodeProgram);
    return [...pythonFolders(await pythonEnvironment()), ...node.map(({ target }) => target)];
  }

  async function environment(extra: Readonly<Record<string, string>> = {}): Promise<Record<string, string>> {
    const { python } = await pythonEnvironment();
    const path = [`${NODE_FOLDER}/bin`, dirname(python), '/usr/local/bin', '/usr/bin', '/bin'].join(':');
    return standardEnvironment({ path, extra });
  }

  return {
    host,
    cgroups,
    filters,
    seccomp,
    // Files that a session leaves in a writable mount must be the next session's as well, so such sessions have one uid in common.
    uidsFor: ({ mounts }) => (mounts.every(({ readOnly }) => readOnly) ? uids.take() : undefined),
    layout: async (spec) => prepareJailLayout(host, await pythonEnvironment(), spec, nodeProgram),
    requireFreeTargets: async ({ mounts }) => {
      if (mounts.length === 0) return;
      programs ??= programFolders();
      requireFreeTargets(mounts, await programs);
    },
    zygoteEnvironment: () => environment(),
    guestConfig: async (spec, shape) => {
      const { memoryBytes, openFiles, fileBytes, cpus, processes } = spec.limits;
      return {
        limits: {
          ...{ memoryBytes, openFiles, fileBytes, cpus },
          ...(isSoft() ? { pinCpus: true, pinnedSeccomp, processes, memoryWatchdogBytes: memoryBytes } : {}),
        },
        environment: await environment(spec.environment),
        seccomp: seccomp(),
        interruptGraceMs: spec.interruptGraceMs,
        // What is forked off a zygote has its preloads from there.
        ...(shape === 'single' ? { preloads: spec.preloads, ...expectedMounts(spec.mounts) } : { preloads: [] }),
      };
    },
  };
}

export function requireBwrap(): string {
  const found = findHostProgram('bwrap');
  if (found !== undefined) return found;
  throw new HotcellError('driver_unavailable', 'process: bubblewrap (bwrap) is not installed', {
    remedy: 'Run `hotcell setup process`, or install it: sudo apt-get install -y bubblewrap',
  });
}

function once<T extends object | string>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
