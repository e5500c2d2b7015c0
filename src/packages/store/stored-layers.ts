import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { requireTrusted } from '../../lib/own-folder.ts';
import { removeTree } from '../../lib/remove-tree.ts';
import { MANIFEST, MARK, removeFolder, serverOfName, sessionOfUse } from './layer-store.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { LAYER_NAME, OWNER_FOLDER_NAME, type OwnerFolder, ownerFolder, ownerFolderAt } from './owner-folder.ts';

/** A layer as `hotcell packages list` shows it. */
export interface ListedLayer extends Omit<Manifest, 'format'> {
  readonly key: string;
  readonly usedAt: number;
  /** Whether a session of any server has it now. */
  readonly isInUse: boolean;
}

/** The layers of all owners, those used last first. */
export async function listLayers(root: string): Promise<ListedLayer[]> {
  requireTrusted(root);
  const found = await Promise.all((await ownerFolders(root)).map(layersOf));
  return found.flat().sort((a, b) => b.usedAt - a.usedAt);
}

/** Removes a layer that no session has, whatever was true when it was listed. Returns whether it is gone. */
export async function removeLayer(root: string, { owner, key }: ListedLayer, serverId: string): Promise<boolean> {
  const { layers, making } = ownerFolder(root, owner);
  return removeFolder(join(layers, key), { making, serverId }, isUsed);
}

export interface StoreUsers {
  readonly isServerAlive: (serverId: string) => Promise<boolean>;
  /** Whether a persistent session has a record, by its unique id. */
  readonly isSessionKept: (uniqueId: string) => Promise<boolean>;
}

/** Removes what servers that have died were making, removing or using, and uses by persistent sessions that have ended. */
export async function removeLeftovers(root: string, { isServerAlive, isSessionKept }: StoreUsers): Promise<void> {
  requireTrusted(root);
  const folders = (await ownerFolders(root)).flatMap(({ making, uses }) => [making, uses]);
  for (const folder of folders) {
    for (const name of await readdir(folder).catch(() => [])) {
      const session = sessionOfUse(name);
      if (await (session === undefined ? isServerAlive(serverOfName(name)) : isSessionKept(session))) continue;
      await removeTree(join(folder, name));
    }
  }
}

async function ownerFolders(root: string): Promise<OwnerFolder[]> {
  const names = await readdir(root).catch(() => []);
  return names.filter((name) => OWNER_FOLDER_NAME.test(name)).map((name) => ownerFolderAt(join(root, name)));
}

async function layersOf({ layers }: OwnerFolder): Promise<ListedLayer[]> {
  const names = (await readdir(layers).catch(() => [])).filter((name) => LAYER_NAME.test(name));
  const found = await Promise.all(names.map((key) => describe(join(layers, key), key)));
  return found.filter((layer) => layer !== undefined);
}

/** Undefined if it was removed meanwhile. */
async function describe(folder: string, key: string): Promise<ListedLayer | undefined> {
  try {
    const path = join(folder, MANIFEST);
    const manifest = readManifest(await readFile(path, 'utf8'));
    if (manifest === undefined) return undefined;
    const { format: _, ...facts } = manifest;
    return { key, ...facts, usedAt: (await stat(path)).mtimeMs, isInUse: await isUsed(folder) };
  } catch {
    return undefined;
  }
}

async function isUsed(folder: string): Promise<boolean> {
  const found = await stat(join(folder, MARK)).catch(() => undefined);
  return found !== undefined && found.nlink > 1;
}
