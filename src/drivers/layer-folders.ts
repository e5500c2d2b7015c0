import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../lib/ids.ts';
import { makeOwnFolder } from '../lib/own-folder.ts';
import { removeTree } from '../lib/remove-tree.ts';
import type { Host } from '../sandbox/host.ts';
import { keptLayers, type LayersFolder, layersRoot } from '../sandbox/layers.ts';
import { COMMON_ID } from './process/session-uids.ts';

/**
 * The folders of layers of one server's sandboxes. They lie in the data folder, on the file system of the packages, so
 * that a layer can be made of hard links. A dead server's are removed by the next one (sessions/server.ts).
 */
export interface LayerFolders {
  /** Makes the empty folder of a sandbox. Synchronous: it is part of every opening, and takes microseconds. */
  make(sandboxId: string, options?: MakeOptions): LayersFolder;
  /** Makes a folder for the folders of several sandboxes, which a jail of theirs can enter and not list. */
  makeShared(name: string): string;
  /** The folder of a sandbox that outlived its server; undefined if it has none. */
  kept(sandboxId: string): LayersFolder | undefined;
  /**
   * Removes a folder with all that is in it. Idempotent. The sandbox must have ended. When it resolves the folder is
   * gone from its place; layers in it, which may be tens of thousands of files, are removed in the background.
   */
  remove(folder: string): Promise<void>;
  /** Resolves when nothing is being removed. Never rejects: what is left goes with the server's folder. */
  settled(): Promise<void>;
}

export interface MakeOptions {
  /** Whether the sandbox may outlive this server. */
  readonly isKept?: boolean;
  /** A folder of `makeShared` to make it in. */
  readonly sharedFolder?: string;
}

/** Jails of root have other uids. They reach these folders through `closeToOthers`, and cannot list them. */
const PASSABLE = 0o711;
const READABLE = 0o755;
/** SECURITY: sessions that are opened and closed in a loop must not pile up folders. */
const MOST_REMOVALS = 8;

export function createLayerFolders({ dataDir, serverId }: Pick<Host, 'dataDir' | 'serverId'>): LayerFolders {
  const own = join(layersRoot(dataDir), serverId);
  const made = new Set<string>();
  const removals = new Set<Promise<void>>();
  let last: Promise<void> = Promise.resolve();

  /** SECURITY: checked once; from then on only this user can change what is below. */
  function ensure(folder: string): string {
    if (!made.has(folder)) {
      closeToOthers(layersRoot(dataDir));
      makeOwnFolder(folder, PASSABLE);
      made.add(folder);
    }
    return folder;
  }

  /** One folder after the other: a removal must not take the threads that the rest of the server reads files with. */
  async function removeBehind(folder: string): Promise<void> {
    while (removals.size >= MOST_REMOVALS) await Promise.race(removals);
    const doomed = join(ensure(own), newId('removed'));
    const gone = rename(folder, doomed).catch(unlessGone);
    last = last
      .then(() => gone)
      .then(() => removeTree(doomed))
      .catch(() => {});
    const removal = last.finally(() => removals.delete(removal));
    // Before anything is awaited: all that wait for a place wake at once.
    removals.add(removal);
    await gone;
  }

  return {
    make: (sandboxId, { isKept = false, sharedFolder } = {}) => {
      const makeIn = ensure(own);
      const folder = join(sharedFolder ?? (isKept ? ensure(keptLayers(dataDir)) : makeIn), sandboxId);
      makeFolder(folder, READABLE);
      return { folder, makeIn };
    },
    makeShared: (name) => {
      const folder = join(ensure(own), name);
      makeFolder(folder, PASSABLE);
      return folder;
    },
    kept: (sandboxId) => {
      const folder = join(keptLayers(dataDir), sandboxId);
      return existsSync(folder) ? { folder, makeIn: ensure(own) } : undefined;
    },
    remove: async (folder) => {
      try {
        rmdirSync(folder); // most have no layers
      } catch {
        // The installer alone is a dozen files: one by one through the thread pool, they would take most of a close.
        if (isSmall(folder)) rmSync(folder, { recursive: true, force: true });
        else await removeBehind(folder);
      }
    },
    settled: async () => {
      await Promise.all(removals);
    },
  };
}

/**
 * Makes the folder that all layers lie in. SECURITY: it alone keeps other users of the host out. The modes below it let
 * the user of a sandbox read, and names are no secret: they are among the arguments of bubblewrap, which every user can
 * see. A jail of root is set up with the group of all jails, which no person is in; an engine binds as root.
 */
function closeToOthers(root: string): void {
  if (process.getuid?.() !== 0) return makeOwnFolder(root, 0o700);
  makeOwnFolder(root, 0o710);
  try {
    chownSync(root, 0, COMMON_ID);
    chmodSync(root, 0o710); // an earlier version, or a host without the group, may have left another mode
  } catch (error) {
    // The root of a user namespace without this group has no jails (process/jail-identity.ts).
    if (!['EINVAL', 'EPERM'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
    chmodSync(root, 0o700);
  }
}

/** Whether it holds no layer of packages. */
function isSmall(folder: string): boolean {
  try {
    return !readdirSync(folder).some((name) => /^\d+$/.test(name));
  } catch {
    return true; // it is gone
  }
}

function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

/** The mode does not depend on the umask. */
function makeFolder(path: string, mode: number): void {
  mkdirSync(path, { mode });
  chmodSync(path, mode);
}
