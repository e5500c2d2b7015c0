import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openDataFolder, openRunFolder } from '../config/folders.ts';
import { newId } from '../lib/ids.ts';
import { makeOwnFolder } from '../lib/own-folder.ts';
import { deadServers, forgetServer, holdServerLock, isServerAlive } from '../lib/server-lock.ts';
import type { Host } from '../sandbox/host.ts';
import { createMountRegistry, type MountRegistry } from './mount-registry.ts';
import { createPersistentRecords, type PersistentRecords } from './persistent-records.ts';
import { recordsFolder } from './records-folder.ts';

/** This server among others of its installation: its lock, its folders, and what dead ones left behind. */
export interface Server {
  readonly host: Host;
  /** The folder that the servers of this user listen in, with the same environment. */
  readonly runRoot: string;
  readonly records: PersistentRecords;
  readonly mounts: MountRegistry;
  logFolder(sessionId: string): string;
  /** Removes folders of servers that no longer live. Never on the way to a first result. */
  clearAfterDead(): Promise<void>;
  release(): Promise<void>;
}

export async function becomeServer(dataDir: string, runRoot: string): Promise<Server> {
  const serverId = newId('v').slice(2, 14);
  const installationId = openDataFolder(dataDir);
  openRunFolder(runRoot);
  const folders = { dataDir, runRoot };
  const lock = await holdServerLock(folders, serverId);
  const runDir = join(runRoot, serverId);
  // Others may pass through, which the jail's user must, but not look around.
  makeOwnFolder(runDir, 0o711);
  const isAlive = (id: string) => isServerAlive(folders, id);
  const records = createPersistentRecords({ folder: recordsFolder(dataDir), serverId, isServerAlive: isAlive });
  const logs = (id: string) => join(dataDir, 'logs', id);
  // In the data folder: servers that were started with another XDG_RUNTIME_DIR have another run folder.
  const registry = join(dataDir, 'mounts');
  const host: Host = {
    dataDir,
    runDir,
    installationId,
    serverId,
    isServerAlive: isAlive,
    isKept: records.isKept,
  };
  return {
    host,
    records,
    runRoot,
    mounts: createMountRegistry({
      folder: registry,
      ...{ serverId, isServerAlive: isAlive },
      left: async () => (await records.kept()).map(({ record }) => record.spec.mounts),
    }),
    logFolder: (sessionId) => join(logs(serverId), sessionId),
    clearAfterDead: async () => {
      await records.clear();
      for (const dead of await deadServers(folders, [join(dataDir, 'logs'), registry])) {
        await rm(logs(dead), { recursive: true, force: true });
        await rm(join(registry, dead), { recursive: true, force: true });
        await forgetServer(folders, dead);
      }
    },
    release: async () => {
      // A log that cannot be removed must not keep the rest from being released.
      await rm(logs(serverId), { recursive: true, force: true }).catch(() => {});
      await rm(join(registry, serverId), { recursive: true, force: true });
      await rm(runDir, { recursive: true, force: true });
      await lock.release();
    },
  };
}
