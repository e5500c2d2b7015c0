import { statSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, parse, resolve, sep } from 'node:path';

/** A folder in which others may have put links, and the names that lead from there to a place. */
export interface PartBelow {
  readonly folder: string;
  readonly names: readonly string[];
}

/**
 * The part of a path that lies below the current folder, or below one of `writable`, which sandboxes can write to; undefined where the path leads through none of them. SECURITY: by
 * device and inode. A shell's `$PWD` may lead there through a link, and as a text it is another folder. The root of the file system is no repository: its links are the system's.
 */
export function partBelow(typed: string, writable: readonly string[] = []): PartBelow | undefined {
  const cwd = process.cwd();
  const own = namesIn(normalize(typed)).filter((name) => name !== '.');
  if (!isAbsolute(typed) && own[0] !== '..' && !isRoot(cwd)) return { folder: cwd, names: own };
  const folders = [cwd, ...writable].filter((folder) => !isRoot(folder));
  const byIdentity = new Map(folders.map((folder) => [identityAt(folder), folder]));
  const place = resolve(typed);
  let { root: reached } = parse(place);
  const names = namesIn(place.slice(reached.length));
  for (const [index, name] of [...names, ''].entries()) {
    const identity = identityAt(reached);
    if (identity === undefined) return undefined;
    const folder = byIdentity.get(identity);
    if (folder !== undefined) return { folder, names: names.slice(index) };
    reached = join(reached, name);
  }
  return undefined;
}

function isRoot(folder: string): boolean {
  return dirname(folder) === folder;
}

function namesIn(path: string): string[] {
  return path.split(sep).filter(Boolean);
}

function identityAt(folder: string): string | undefined {
  try {
    const { dev, ino } = statSync(folder, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
