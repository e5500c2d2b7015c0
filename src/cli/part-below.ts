import { readlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, parse, resolve, sep } from 'node:path';
import { isSameFolder, NO_LINK } from '../lib/held-folder.ts';
import { currentFolder } from './current-folder.ts';
import { type OpenFolder, openAgain, openFolder } from './open-folder.ts';

/** A folder in which others may have put links, and the names that lead from it to a place. */
export interface PartBelow {
  open(): OpenFolder;
  readonly names: readonly string[];
}

const MOST_LINKS = 40;

/**
 * The part of a path below the current folder, or below one of `writable`, which sandboxes can write to; undefined if
 * the path leads through none of them. SECURITY: compares device and inode, link by link. A shell's `$PWD` may lead
 * there through a link, and is another folder as a text; and a link of the user may lead there, and on through a link
 * that a sandbox made. The root of the file system is not a repository: its links are the system's.
 */
export function partBelow(typed: string, writable: readonly string[] = []): PartBelow | undefined {
  const open = () => openAgain(currentFolder());
  const own = namesIn(normalize(typed));
  if (!isAbsolute(typed) && own[0] !== '..' && !isRoot(process.cwd())) return { open, names: own };
  const guarded = writable.map((folder) => () => openFolder(folder, NO_LINK));
  const openAt = (path: string) => (isRoot(path) ? undefined : [open, ...guarded].find((folder) => isAt(path, folder)));
  const place = resolve(pathOf(open), typed);
  let { root: reached } = parse(place);
  let names = namesIn(place.slice(reached.length));
  for (let links = 0; links <= MOST_LINKS; ) {
    const found = openAt(reached);
    if (found !== undefined) return { open: found, names };
    const [name, ...rest] = names;
    if (name === undefined) return undefined;
    const next = name === '..' ? dirname(reached) : join(reached, name);
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
