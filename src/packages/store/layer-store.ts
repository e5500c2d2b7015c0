import { existsSync } from 'node:fs';
import { link, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { newId } from '../../lib/ids.ts';
import { makeOwnFolder, requireTrusted } from '../../lib/own-folder.ts';
import { removeTree } from '../../lib/remove-tree.ts';
import { treeSize } from '../../lib/tree-size.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { ownerFolder } from './owner-folder.ts';

/** A layer of the store, whole and read-only. */
export interface StoredLayer {
  readonly key: string;
  readonly manifest: Manifest;
}

/**
 * The layers of all owners, in files that all servers of an installation share. A layer appears by rename, and disappears by rename: a server that finds it finds it
 * whole. Nothing in it changes.
 */
export interface LayerStore {
  /** Undefined if it is not there. One that is there and not whole, after a power failure, is removed. */
  find(owner: string, key: string): Promise<StoredLayer | undefined>;
  /**
   * Makes a layer: `fill` writes its tree into an empty folder. If it rejects, nothing is left. If another server was faster, its layer counts.
   */
  add(owner: string, key: string, fill: (tree: string) => Promise<NewLayer>): Promise<StoredLayer>;
  /**
   * Begins to use a layer: it stays in the store until `release`, or until this server has died. Undefined if it is not there (any more). With the unique id of a
   * persistent session it stays as long as that session has a record, whichever server has the session; again is the same as once.
   */
  use(owner: string, key: string, persistent?: string): Promise<LayerUse | undefined>;
}

export interface LayerUse {
  /** The folder with the layer's files. It does not change. */
  readonly tree: string;
  readonly manifest: Manifest;
  /** Idempotent. */
  release(): Promise<void>;
}

export type NewLayer = Omit<Manifest, 'format' | 'owner' | 'madeAt'>;

export const MANIFEST = 'manifest.json';
export const TREE = 'tree';
/** A file beside the tree. Its number of links tells how many sessions of all servers have the layer. */
export const MARK = 'mark';

/** `serverId` names what is not whole yet: it is removed if the server with that id has died (`prune`). */
export function createLayerStore(options: { root: string; serverId: string; clock?: Clock }): LayerStore {
  const { root, serverId, clock = systemClock } = options;

  /** Layers that are known to be whole, because this server made or measured them. */
  const whole = new Set<string>();

  async function find(owner: string, key: string): Promise<StoredLayer | undefined> {
    const folder = join(ownerFolder(root, owner).layers, key);
    // SECURITY: sandboxes run what is there.
    requireTrusted(folder);
    const text = await readFile(join(folder, MANIFEST), 'utf8').catch(() => undefined);
    const manifest = text === undefined ? undefined : readManifest(text);
    if (text !== undefined && manifest === undefined) {
      await removeFolder(folder, { making: ownerFolder(root, owner).making, serverId });
      return undefined;
    }
    if (manifest === undefined || manifest.owner !== owner) return undefined;
    if (!whole.has(folder)) {
      const { files, bytes } = await treeSize(join(folder, TREE)).catch(() => ({ files: -1, bytes: -1 }));
      if (files !== manifest.files || bytes !== manifest.bytes) {
        await removeFolder(folder, { making: ownerFolder(root, owner).making, serverId });
        return undefined;
      }
      whole.add(folder);
    }
    return { key, manifest };
  }

  async function add(owner: string, key: string, fill: (tree: string) => Promise<NewLayer>): Promise<StoredLayer> {
    const { layers, making } = ownerFolder(root, owner);
    for (const folder of [layers, making]) makeOwnFolder(folder, 0o700);
    const draft = join(making, newId(serverId));
    makeOwnFolder(draft, 0o700);
    try {
      const tree = join(draft, TREE);
      makeOwnFolder(tree, 0o755);
      await writeFile(join(draft, MARK), '', { mode: 0o600 });
      const manifest: Manifest = { format: 1, owner, madeAt: clock.now(), ...(await fill(tree)) };
      await writeFile(join(draft, MANIFEST), JSON.stringify(manifest), { mode: 0o600 });
      await touch(join(draft, MANIFEST));
      const isOurs = await rename(draft, join(layers, key)).then(() => true, unlessThere);
      if (isOurs) whole.add(join(layers, key)); // this server has just counted it
    } finally {
      await removeTree(draft);
    }
    const made = await find(owner, key);
    if (made === undefined) throw new HotcellError('internal', 'a layer of packages is gone right after it was made');
    return made;
  }

  async function use(owner: string, key: string, persistent?: string): Promise<LayerUse | undefined> {
    const found = await find(owner, key);
    if (found === undefined) return undefined;
    const { layers, uses } = ownerFolder(root, owner);
    makeOwnFolder(uses, 0o700);
    const held = join(uses, persistent === undefined ? newId(serverId) : useOfSession(persistent, key));
    const isNew = persistent === undefined || !existsSync(held);
    try {
      if (isNew) await link(join(layers, key, MARK), held).catch(unlessThere);
      await touch(join(layers, key, MANIFEST));
    } catch (error) {
      if (isNew) await rm(held, { force: true });
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined; // removed meanwhile
      throw error;
    }
    return {
      tree: join(layers, key, TREE),
      manifest: found.manifest,
      release: async () => (isNew ? rm(held, { force: true }) : undefined),
    };
  }

  async function touch(path: string): Promise<void> {
    const seconds = clock.now() / 1000;
    await utimes(path, seconds, seconds);
  }

  return { find, add, use };
}

/** The name of a use by a persistent session. */
function useOfSession(uniqueId: string, key: string): string {
  return `${uniqueId}.${key}`;
}

/** The persistent session whose use has this name; undefined if it is a use by a server. */
export function sessionOfUse(name: string): string | undefined {
  return /^(s-[0-9a-f]+)\.[0-9a-f]{64}$/.exec(name)?.[1];
}

/** Another server, or this one before, did the same. */
function unlessThere(error: NodeJS.ErrnoException): false {
  if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  return false;
}

/** The server that is making, removing or using something with this name (`newId`). */
export function serverOfName(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('-')));
}

/**
 * Removes a folder of the store: it disappears as a whole before anything of it is deleted. Returns false, and puts it
 * back, if `isUsed` is true of it then: no use can begin once it has disappeared. `serverId` must count as alive until
 * then: other servers delete what a dead one was removing.
 */
export async function removeFolder(
  folder: string,
  { making, serverId }: { making: string; serverId: string },
  isUsed: (folder: string) => Promise<boolean> = async () => false,
): Promise<boolean> {
  const doomed = join(making, newId(serverId));
  try {
    await rename(folder, doomed);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true; // another server was faster
    throw error;
  }
  const isKept = (await isUsed(doomed)) && (await putBack(doomed, folder));
  await removeTree(doomed);
  return !isKept;
}

/** Returns whether there is such a folder again: this one, or one that a server has made meanwhile. */
async function putBack(doomed: string, folder: string): Promise<boolean> {
  try {
    await rename(doomed, folder).catch(unlessThere);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false; // deleted meanwhile
    throw error;
  }
}
