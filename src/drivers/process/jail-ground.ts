import { dirname } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { findProgram } from '../../lib/find-program.ts';
import { expectedMounts } from '../../sandbox/expected-mounts.ts';
import { type GuestConfig, standardEnvironment } from '../../sandbox/guest-config.ts';
import type { Host } from '../../sandbox/host.ts';
import { type Architecture, pinnedFilter, seccompFilter } from '../../sandbox/seccomp.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';
import { createLayerFolders, type LayerFolders } from '../layer-folders.ts';
import type { JailLayout } from './bwrap-arguments.ts';
import { identifyPython } from './identify-python.ts';
import { prepareJailLayout, pythonFolders } from './jail-layout.ts';
import { installLayerHook } from './layer-hook.ts';
import { findNodeRuntime, NODE_FOLDER } from './node-runtime.ts';
import { findPythonEnvironment, type PythonEnvironment } from './python-environment.ts';
import { requireFreeTargets } from './reserved-targets.ts';
import type { ServerCgroups } from './server-cgroups.ts';
import { createUidBlocks, type UidBlock } from './session-uids.ts';
import type { ProcessShape } from './shape.ts';

/**
 * The prerequisites shared by all jails of one server: host folders, an interpreter, cgroups. Found on first use and
 * cached.
 */
export interface JailGround {
  readonly host: Host;
  readonly cgroups: ServerCgroups;
  /** The folders of layers. */
  readonly layers: LayerFolders;
  /** The system call filters that bubblewrap installs: for a zygote, and for a guest in a jail of its own. */
  readonly filters: { readonly zygote: () => Buffer; readonly single: () => Buffer };
  /** The additional system call filter that the guest of a sandbox installs. */
  seccomp(): string;
  /** Allocates uids for the jail of this spec; undefined if it runs as the uid that all such jails have in common. */
  uidsFor(spec: SandboxSpec): UidBlock | undefined;
  /** Rejects if there is no Python for sandboxes. */
  layout(spec: SandboxSpec): Promise<JailLayout>;
  /**
   * SECURITY: the environment of a zygote. It contains nothing from a session: `OPENSSL_CONF` or `LD_PRELOAD` of one
   * session would make the zygote load its code, and a secret would be in the memory of every later fork.
   */
  zygoteEnvironment(): Promise<Record<string, string>>;
  /** Rejects with `mount_denied` if a mount would hide the programs that sandboxes run. */
  requireFreeTargets(spec: SandboxSpec): Promise<void>;
  /** Identifies the files that every sandbox begins with (`Driver.identify`). */
  identify(): Promise<string | undefined>;
  /** The guest's configuration, sent in the first `hello`. */
  guestConfig(spec: SandboxSpec, shape: ProcessShape): Promise<GuestConfig>;
}

export function createJailGround(host: Host, cgroups: ServerCgroups, nodeProgram?: string): JailGround {
  const architecture = process.arch as Architecture;
  const isSoft = () => cgroups.version() === undefined;
  const filters = {
    zygote: once(() => seccompFilter(architecture, { makesSandboxes: true })),
    single: once(() => seccompFilter(architecture, { outer: true })),
  };
  const seccomp = once(() => seccompFilter(architecture, { addsFilters: isSoft() }).toString('base64'));
  const pinnedSeccomp = once(() => pinnedFilter(architecture).toString('base64'));
  const uids = createUidBlocks();
  let programs: Promise<string[]> | undefined;
  let findsLayers: boolean | undefined;
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
    const found = await pythonEnvironment();
    const { python } = found;
    findsLayers ??= installLayerHook(found);
    const path = [
      `${NODE_FOLDER}/bin`,
      dirname(python),
      '/usr/local/bin',
      '/usr/bin',
      '/bin',
      '/usr/sbin',
      '/sbin',
    ].join(':');
    return standardEnvironment({ path, findsLayers, extra });
  }

  return {
    host,
    cgroups,
    layers: createLayerFolders(host),
    filters,
    seccomp,
    // Sessions with a writable mount share one uid, because later sessions must be able to use the files that earlier
    // ones left.
    uidsFor: ({ mounts }) => (mounts.every(({ readOnly }) => readOnly) ? uids.take() : undefined),
    layout: async (spec) => prepareJailLayout(host, await pythonEnvironment(), spec, nodeProgram),
    requireFreeTargets: async ({ mounts }) => {
      if (mounts.length === 0) return;
      programs ??= programFolders();
      requireFreeTargets(mounts, await programs);
    },
    identify: async () => identifyPython(await pythonEnvironment()),
    zygoteEnvironment: () => environment(),
    guestConfig: async (spec, shape) => {
      const { memoryBytes, openFiles, fileBytes, cpus, processes } = spec.limits;
      return {
        limits: {
          ...{ memoryBytes, openFiles, fileBytes, cpus },
          ...(isSoft()
            ? { pinCpus: true, pinnedSeccomp: pinnedSeccomp(), processes, memoryWatchdogBytes: memoryBytes }
            : {}),
        },
        environment: await environment(spec.environment),
        seccomp: seccomp(),
        interruptGraceMs: spec.interruptGraceMs,
        // A fork of a zygote inherits the preloads.
        ...(shape === 'single'
          ? {
              preloads: spec.preloads,
              preloadEnvironment: await environment(),
              ...expectedMounts(spec.mounts),
            }
          : { preloads: [] }),
      };
    },
  };
}

export function requireBwrap(): string {
  const found = findProgram('bwrap');
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
