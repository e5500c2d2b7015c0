import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { FOLDER_FLAGS, type FolderIdentity, identityOf, isSameFolder, NO_LINK } from '../lib/held-folder.ts';

/** A folder that is held open. */
export interface OpenFolder extends Disposable {
  /** Path without links, as it was when the folder was opened. */
  readonly path: string;
  readonly identity: FolderIdentity;
  /**
   * Path of an entry of the folder that was opened, even if another folder has taken its name since. Only Linux has
   * such paths: elsewhere this throws ESTALE if the folder has been replaced.
   */
  entry(name: string): string;
}

const isLinux = process.platform === 'linux';

/** Opens a folder. The kernel follows links on the path; `flags` may be NO_LINK for the last name. */
export function openFolder(path: string, flags = 0): OpenFolder {
  const fd = openSync(path, FOLDER_FLAGS | flags);
  try {
    const identity = identityOf(fstatSync(fd, { bigint: true }));
    const real = isLinux ? readlinkSync(`/proc/self/fd/${fd}`) : realpathSync.native(path);
    return {
      path: real,
      identity,
      entry: (name) => {
        if (isLinux) return `/proc/self/fd/${fd}/${name}`;
        requireSame(real, identity);
        return join(real, name);
      },
      [Symbol.dispose]: () => closeSync(fd),
    };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Opens another handle of the same folder. */
export function openAgain(folder: OpenFolder): OpenFolder {
  return openFolder(folder.entry('.'));
}

/**
 * Opens a folder inside one that is held open. SECURITY: throws if the name is a symbolic link, even one that was put
 * there just now.
 */
export function stepInto(folder: OpenFolder, name: string): OpenFolder {
  return openFolder(folder.entry(name), NO_LINK);
}

/** Opens a folder inside one that is held open, and creates it if it is missing. */
export function makeInside(folder: OpenFolder, name: string): OpenFolder {
  try {
    mkdirSync(folder.entry(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return stepInto(folder, name);
}

/**
 * Throws if nothing can be created in a folder that is held open. Permissions alone do not tell: a disk may be full or
 * read-only, and root may do everything.
 */
export function tryToWrite(folder: OpenFolder): void {
  const trial = folder.entry(`.hotcell-${randomBytes(6).toString('hex')}`);
  mkdirSync(trial);
  rmdirSync(trial);
}

export function isLink(folder: OpenFolder, name: string): boolean {
  return lstatSync(folder.entry(name), { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function requireSame(path: string, identity: FolderIdentity): void {
  const found = identityOf(statSync(path, { bigint: true }));
  if (realpathSync.native(path) === path && isSameFolder(found, identity)) return;
  throw Object.assign(new Error(`${path}: replaced by another folder`), { code: 'ESTALE' });
}
