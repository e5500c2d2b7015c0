import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/package-root.ts';

/** One file of the guest: a Python module, or the program of a kernel of another language. */
export interface GuestFile {
  /** Path relative to `hotcell_guest`, with slashes. */
  readonly path: string;
  readonly content: Buffer;
}

/**
 * The files of the guest, sorted by path. All drivers ship exactly these. Synchronous, because it is part of every cold
 * start: reading a hundred small files with one promise after another takes six times as long.
 */
export function guestFiles(folder: string = join(packageRoot(), 'guest', 'hotcell_guest')): GuestFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:py|js)$/.test(path))
    .sort()
    .map((path) => ({ path, content: readFileSync(join(folder, path)) }));
}
