import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { evictions, type StoreLimits } from './evictions.ts';
import { type ListedLayer, listLayers, removeLayer, removeLeftovers, type StoreUsers } from './stored-layers.ts';

export interface PruneOptions extends StoreUsers {
  readonly limits: StoreLimits;
  /** The id of the server that prunes, which names what it is removing. It counts as alive meanwhile. */
  readonly serverId: string;
}

const DAY_MS = 86_400_000;

/** Removes what dead servers left, then layers beyond the limits. Returns the layers that are gone. Several servers may do it at once. */
export async function pruneStore(root: string, { limits, serverId, ...users }: PruneOptions): Promise<ListedLayer[]> {
  await removeLeftovers(root, users);
  await removeOldDrafts(join(root, 'tools'));
  const gone: ListedLayer[] = [];
  for (const layer of evictions(await listLayers(root), limits))
    if (await removeLayer(root, layer, serverId)) gone.push(layer);
  return gone;
}

/** Tools that were not whole when their server died. */
async function removeOldDrafts(folder: string): Promise<void> {
  for (const name of (await readdir(folder).catch(() => [])).filter((one) => one.startsWith('making-'))) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > DAY_MS)
      await rm(join(folder, name), { recursive: true, force: true });
  }
}
