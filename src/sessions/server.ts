import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openDataFolder, openRunFolder } from '../config/folders.ts';
import { newId } from '../lib/ids.ts';
import { makeOwnFolder } from '../lib/own-folder.ts';
import { removeTree } from '../lib/remove-tree.ts';
import type { Host } from '../sandbox/host.ts';
import { keptLayers, layersRoot } from '../sandbox/layers.ts';
import type { MountRegistry } from './mount-registry.ts';
import type { PersistentRecords } from './persistent-records.ts';
import type { Registry } from './registry.ts';
import { ownFacts, type ServerFacts } from './server-facts.ts';
import type { ServerFolders } from './server-lock.ts';

/** This server among others of its installation: its lock, its folders, and the cleanup after dead ones. */
export interface Server {
  readonly host: Host;
  /** The folder with the sockets of this user's servers, for the current environment. */
  readonly runRoot: string;
  readonly records: PersistentRecords;
  readonly mounts: MountRegistry;
  logFolder(sessionId: string): string;
  /** Removes folders of dead servers. It must not delay a first result. */
  clearAfterDead(): Promise<void>;
  release(): Promise<void>;
}

export async function becomeServer(
  { dataDir, runRoot }: ServerFolders,
  registry: Registry,
  facts: () => ServerFacts = () => ownFacts(0),
): Promise<Server> {
  const serverId = newId('v').slice(2, 14);
  const installationId = openDataFolder(dataDir);
  openRunFolder(runRoot);
  const membership = await registry.join(serverId, facts);
  const { records, mounts } = membership;
  const runDir = join(runRoot, serverId);
  // Other users may enter the folder, which the jail's user needs, but not list it.
  makeOwnFolder(runDir, 0o711);
  const logs = join(dataDir, 'logs');
  const removeLogs = (id: string) => rm(join(logs, id), { recursive: true, force: true });
  const layers = layersRoot(dataDir);
  const removeLayers = (id: string) => removeTree(join(layers, id));
  const host: Host = {
    dataDir,
    runDir,
    installationId,
    serverId,
    isServerAlive: registry.isServerAlive,
    isKept: records.isKept,
  };
  return {
    host,
    runRoot,
    records,
    mounts,
    logFolder: (sessionId) => join(logs, serverId, sessionId),
    clearAfterDead: async () => {
      await records.clear();
      await removeUnkept(dataDir, records);
      for (const dead of await membership.deadServers([logs, layers])) {
        await removeLogs(dead);
        await removeLayers(dead);
        await membership.forget(dead);
      }
    },
    release: async () => {
      // A log that cannot be removed must not stop the rest of the cleanup.
      await removeLogs(serverId).catch(() => {});
      await removeLayers(serverId);
      await rm(runDir, { recursive: true, force: true });
      await membership.leave();
    },
  };
}

/** Removes layers of sandboxes that no record names any more. A record is written before its sandbox is created. */
async function removeUnkept(dataDir: string, records: Pick<PersistentRecords, 'isKept'>): Promise<void> {
  const folder = keptLayers(dataDir);
  for (const id of await readdir(folder).catch(() => [])) {
    if (!(await records.isKept(id))) await removeTree(join(folder, id));
  }
}
