import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mountDenied } from '../sandbox/mount-denied.ts';
import { type MountEntry, mountEntry, parseEntry, type WrittenMount } from './mount-entry.ts';

/** An entry of the registry and its file. */
export interface FoundEntry extends MountEntry {
  readonly path: string;
}

const ENTRY = /\.json$/;

/** Writes a file atomically, so that concurrent readers see all of it or none. */
export async function writeWhole(path: string, written: readonly WrittenMount[], draft = `${path}.new`): Promise<void> {
  await writeFile(draft, JSON.stringify(written), { mode: 0o600 });
  await rename(draft, path);
}

export async function entryPaths(folder: string): Promise<string[]> {
  return (await namesIn(folder)).filter((name) => ENTRY.test(name)).map((name) => join(folder, name));
}

/** Reads entries. `onBroken` is called for each invalid file; the file is ignored, unless `onBroken` throws. */
export async function readEntries(
  paths: readonly string[],
  onBroken: (path: string) => Promise<void>,
): Promise<FoundEntry[]> {
  const found = await Promise.all(
    paths.map(async (path) => {
      const mounts = await readWritten(path);
      if (mounts === undefined) await onBroken(path);
      return { ...mountEntry(mounts ?? []), path };
    }),
  );
  return found.filter(({ mounts }) => mounts.length > 0);
}

/** Reads one file; undefined if it was removed meanwhile. */
async function readWritten(path: string) {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '[]';
    throw error;
  });
  return parseEntry(text);
}

/**
 * SECURITY: an unreadable entry of a live server may be one that forbids the mount, so no mount is allowed beside it.
 */
export async function unreadable(path: string): Promise<never> {
  throw mountDenied(
    `${path}: this entry of the mount registry cannot be read`,
    'Restart the server that its parent folder is named after, or all servers of this installation.',
  );
}

export async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
}
