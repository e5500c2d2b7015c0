import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/package-root.ts';

/** One file of the guest: a module of Python, or a program of a kernel that is not Python's. */
export interface GuestFile {
  /** The path below `hotcell_guest`, with slashes. */
  readonly path: string;
  readonly content: Buffer;
}

/**
 * The guest of this installation, sorted by path. Both drivers ship exactly these files. Synchronous: it is on the path of every cold start, where a
 * hundred small files one promise after another take six times as long.
 */
export function guestFiles(folder: string = join(packageRoot(), 'guest', 'hotcell_guest')): GuestFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:py|js)$/.test(path))
    .sort()
    .map((path) => ({ path, content: readFileSync(join(folder, path)) }));
}
