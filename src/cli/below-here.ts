import { statSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, parse, resolve, sep } from 'node:path';

/**
 * The names that lead from the current folder to a place; undefined where its path does not lead through that folder. SECURITY: by device and inode. A shell's `$PWD` may lead there
 * through a link, and as a text it is another folder. The root of the file system is no repository: its links are the system's.
 */
export function namesBelowHere(typed: string): string[] | undefined {
  const cwd = process.cwd();
  if (dirname(cwd) === cwd) return undefined;
  const [first, ...rest] = namesIn(normalize(typed));
  if (!isAbsolute(typed) && first !== '..') return [first ?? '', ...rest].filter((name) => name !== '' && name !== '.');
  const here = identityAt(cwd);
  const place = resolve(typed);
  let { root: folder } = parse(place);
  const names = namesIn(place.slice(folder.length));
  for (const [index, name] of [...names, ''].entries()) {
    const found = identityAt(folder);
    if (found === undefined) return undefined;
    if (found === here) return names.slice(index);
    folder = join(folder, name);
  }
  return undefined;
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
