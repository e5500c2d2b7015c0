import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createMountRegistry } from './mount-registry.ts';
import { createPersistentRecords } from './persistent-records.ts';
import { recordsFolder } from './records-folder.ts';
import type { Membership, Registry } from './registry.ts';
import type { ServerFacts } from './server-facts.ts';
import {
  deadServers,
  forgetServer,
  holdServerLock,
  isServerAlive,
  liveServers,
  type ServerFolders,
} from './server-lock.ts';

/**
 * The registry of one host: a listening socket for each server, a file for each record, and one for the mounts of each
 * session.
 */
export function createFileRegistry(folders: ServerFolders): Registry {
  const { dataDir } = folders;
  // In the data folder, because servers started with another XDG_RUNTIME_DIR have another run folder.
  const mountsFolder = join(dataDir, 'mounts');
  const isAlive = (serverId: string) => isServerAlive(folders, serverId);
  const recordsOf = (serverId: string) =>
    createPersistentRecords({ folder: recordsFolder(dataDir), serverId, isServerAlive: isAlive });
  const removeMounts = (serverId: string) => rm(join(mountsFolder, serverId), { recursive: true, force: true });

  async function enter(serverId: string, facts: () => ServerFacts): Promise<Membership> {
    const lock = await holdServerLock(folders, serverId, facts);
    const records = recordsOf(serverId);
    return {
      records,
      mounts: createMountRegistry({
        folder: mountsFolder,
        serverId,
        isServerAlive: isAlive,
        left: async () => (await records.all()).map(({ record }) => record.registered ?? record.spec.mounts),
      }),
      deadServers: (others) => deadServers(folders, [...others, mountsFolder]),
      forget: async (dead) => {
        await removeMounts(dead);
        await forgetServer(folders, dead);
      },
      leave: async () => {
        await removeMounts(serverId);
        await lock.release();
      },
    };
  }

  return { isServerAlive: isAlive, servers: () => liveServers(folders), records: recordsOf(''), join: enter };
}
