import { readlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, parse, resolve, sep } from 'node:path';
import { isSameFolder, NO_LINK } from '../lib/held-folder.ts';
import { currentMounts } from '../lib/mount-table.ts';
import { pathIndex } from '../lib/path-index.ts';
import { currentFolder } from './current-folder.ts';
import { type OpenFolder, openAgain, openFolder } from './open-folder.ts';

/**
 * Folders of this machine that a sandbox can write to. They are `unknown` for a session of a server, which others
 * opened: any folder may be one of them.
 */
export type Writable = readonly string[] | 'unknown';

/** A folder in which others may have put links, and the names that lead from it to a place. */
export interface PartBelow {
  open(): OpenFolder;
  readonly names: readonly string[];
  /** Whether a link outside of such folders, which is the user's own, led there. */
  readonly isLinkedTo: boolean;
}

const MOST_LINKS = 40;
/** A link of the kernel to an open file (`/dev/stdin`, `/dev/fd/9`). Opening it leads to that file, wherever its name does. */
const OPEN_FILE = /^\/proc\/\d+\/fd\/\d+$/;
/** Folders whose links are the kernel's, and lead to open files. In the two exceptions any user can create links. */
const OF_KERNEL = /^\/(dev(?!\/(shm|mqueue)(\/|$))|proc)(\/|$)/;

/**
 * The part of a path below the current folder, or below one of `writable`, which sandboxes can write to; undefined if
 * the path leads through none of them. SECURITY: compares device and inode, link by link. A shell's `$PWD` may lead
 * there through a link, and is another folder as a text; and a link of the user may lead there, and on through a link
 * that a sandbox made. A folder in them may have another path outside, by a bind mount: they are compared by location, too.
 * The root of the file system is not a repository: its links are the system's, and the only ones that are followed where
 * the writable folders are unknown.
 */
export function partBelow(typed: string, writable: Writable = []): PartBelow | undefined {
  const open = () => openAgain(currentFolder());
  const own = namesIn(normalize(typed));
  if (!isAbsolute(typed) && own[0] !== '..' && !isRoot(process.cwd())) return { open, names: own, isLinkedTo: false };
  const guarded = writable === 'unknown' ? [] : writable.map((folder) => () => openFolder(folder, NO_LINK));
  const isShown = shownBy([open, ...guarded]);
  const openAt = (path: string, isLast: boolean) => {
    if (isRoot(path)) return undefined;
    // The root itself is never mounted. So a link in it is the system's, and the last name may be a file in it.
    if (writable === 'unknown' && !isLast && !OF_KERNEL.test(path)) return () => openFolder(path, NO_LINK);
    return (
      [open, ...guarded].find((folder) => isAt(path, folder)) ??
      (isShown(path) ? () => openFolder(path, NO_LINK) : undefined)
    );
  };
  const place = resolve(pathOf(open), typed);
  let { root: reached } = parse(place);
  let names = namesIn(place.slice(reached.length));
  for (let links = 0; links <= MOST_LINKS; ) {
    const found = openAt(reached, names.length === 0);
    if (found !== undefined) return { open: found, names, isLinkedTo: links > 0 };
    const [name, ...rest] = names;
    if (name === undefined) return undefined;
    const next = name === '..' ? dirname(reached) : join(reached, name);
    if (rest.length === 0 && OPEN_FILE.test(next)) return undefined;
    const target = linkAt(next);
    if (target === undefined) [reached, names] = [next, rest];
    else {
      links += 1;
      if (isAbsolute(target)) reached = parse(target).root;
      names = [...namesIn(target), ...rest];
    }
  }
  return undefined;
}

/** Whether a path is a folder, or lies in one, that one of these folders shows, itself or by a mount below it. */
function shownBy(folders: readonly (() => OpenFolder)[]): (path: string) => boolean {
  const mounts = currentMounts();
  const shown = pathIndex(
    folders.map(pathOf).flatMap((folder) => {
      return isRoot(folder)
        ? []
        : [mounts.locate(folder), ...mounts.below(folder)].map((part) => [part, true] as const);
    }),
  );
  return (path) => shown.around(mounts.locate(path)).length > 0;
}

/** The path of the current folder, also after a folder above it was renamed. */
function pathOf(open: () => OpenFolder): string {
  try {
    using folder = open();
    return folder.path;
  } catch {
    return process.cwd(); // it cannot be opened, and need not be for other paths
  }
}

function isRoot(folder: string): boolean {
  return dirname(folder) === folder;
}

function namesIn(path: string): string[] {
  return path.split(sep).filter((name) => name !== '' && name !== '.');
}

function isAt(path: string, open: () => OpenFolder): boolean {
  try {
    using one = openFolder(path, NO_LINK);
    using other = open();
    return isSameFolder(one.identity, other.identity);
  } catch {
    return false;
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
