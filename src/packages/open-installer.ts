import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import type { ExecutionPolicy } from '../execution/execution.ts';
import type { Clock } from '../lib/clock.ts';
import type { Reach } from '../network/open-socket.ts';
import type { Registries } from '../registries/registries.ts';
import type { IsolationChoices } from '../sessions/isolation-choices.ts';
import type { LiveSessions } from '../sessions/live-sessions.ts';
import type { Server } from '../sessions/server.ts';
import { createOpenBuilder } from './builder/open-in-sandbox.ts';
import { createInstaller, type Installer } from './installer.ts';
import { createKnownBases } from './store/known-bases.ts';
import { createLayerStore } from './store/layer-store.ts';
import { createLockStore } from './store/lock-store.ts';
import { pruneStore } from './store/prune.ts';
import { roomFor } from './store/room.ts';
import { listLayers } from './store/stored-layers.ts';

export interface InstallerSetting {
  readonly live: Pick<LiveSessions, 'open'>;
  readonly config: Config;
  readonly policy: () => ExecutionPolicy;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly reach: Partial<Reach> | undefined;
  readonly registries: Registries;
  readonly server: Pick<Server, 'host' | 'records'>;
  readonly choose: IsolationChoices;
  readonly clock: Clock;
}

const BUILDER_PROCESSES = 512;
const BUILDER_OPEN_FILES = 4096;
const LEAST_BUILDER_CPUS = 2;

/** The folder of installed packages, which all servers of an installation share. */
export function packagesFolder(dataDir: string): string {
  return join(dataDir, 'packages');
}

/** The installer of one server. */
export function openInstaller(setting: InstallerSetting): Installer {
  const { live, config, policy, environment, reach, registries, server, choose, clock } = setting;
  const { dataDir, serverId, isServerAlive } = server.host;
  const root = packagesFolder(dataDir);
  const { builderMemoryBytes: memoryBytes, cpus, installTimeoutMs, layerBytes, layerFiles } = config;
  const limits = { ownerBytes: config.packageBytesPerOwner, bytes: config.packageBytes };
  const diskBytes = Math.floor((memoryBytes * 3) / 4);
  const prune = () => pruneStore(root, { limits, serverId, isServerAlive, isSessionKept: server.records.has });
  void prune().catch(() => {}); // what servers that died have left
  return createInstaller({
    root,
    layers: createLayerStore({ root, serverId, clock }),
    locks: createLockStore({ root, clock }),
    bases: createKnownBases(root),
    registries,
    layerLimits: { bytes: layerBytes, entries: layerFiles },
    room: async (owner) => roomFor(owner, await listLayers(root), limits, layerBytes),
    identify: async ({ driver, image }, signal) => {
      const { driver: chosen } = await choose(driver);
      return chosen.identify?.(image, signal === undefined ? {} : { signal });
    },
    open: createOpenBuilder({
      ...{ live, config, policy, environment, reach },
      limits: {
        ...{ memoryBytes, diskBytes, fileBytes: diskBytes, cpus: Math.max(cpus, LEAST_BUILDER_CPUS) },
        ...{ processes: BUILDER_PROCESSES, openFiles: BUILDER_OPEN_FILES },
      },
      timeoutMs: Math.min(installTimeoutMs, config.maxTimeoutMs),
    }),
    onStored: () => void prune().catch(() => {}),
  });
}
