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
  const lock = await holdServerLock(runRoot, serverId);
  const runDir = join(runRoot, serverId);
  // Others may pass through, which the jail's user must, but not look around.
  makeOwnFolder(runDir, 0o711);
  const isAlive = (id: string) => isServerAlive(runRoot, id);
  const records = createPersistentRecords({ folder: recordsFolder(dataDir), serverId, isServerAlive: isAlive });
  const logs = (id: string) => join(dataDir, 'logs', id);
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
    mounts: createMountRegistry({
      host,
      left: async () => (await records.kept()).map(({ record }) => record.spec.mounts),
    }),
    logFolder: (sessionId) => join(logs(serverId), sessionId),
    clearAfterDead: async () => {
      await records.clear();
      for (const dead of await deadServers(runRoot, [join(dataDir, 'logs')])) {
        await rm(join(runRoot, dead), { recursive: true, force: true });
        await rm(logs(dead), { recursive: true, force: true });
        await forgetServer(runRoot, dead);
      }
    },
    release: async () => {
      // A log that cannot be removed must not keep the rest from being released.
      await rm(logs(serverId), { recursive: true, force: true }).catch(() => {});
      await rm(runDir, { recursive: true, force: true });
      await lock.release();
    },
  };
}
