import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/package-root.ts';
import { type GuestFile, guestFiles } from './guest-files.ts';

/** The manifest that the build writes beside the program (scripts/guest-manifest.mjs). */
interface Manifest {
  readonly digest: string;
  readonly builtAtMs: number;
  readonly files: readonly (readonly [path: string, sizeBytes: number])[];
}

/**
 * The digest of the guest's files. If no file has changed since the build, it is that of the build: reading a hundred
 * files takes longer than starting a jail. The data folder has the guest under this name, so the files themselves are
 * needed only once.
 */
export function guestDigest(root: string = packageRoot()): string {
  const folder = join(root, 'guest', 'hotcell_guest');
  return builtDigest(join(root, 'dist', 'guest-manifest.json'), folder) ?? digestOf(guestFiles(folder));
}

export function digestOf(files: readonly GuestFile[]): string {
  const hash = createHash('sha256');
  for (const { path, content } of files) hash.update(`${path}\0${content.length}\0`).update(content);
  return hash.digest('hex');
}

function builtDigest(path: string, folder: string): string | undefined {
  try {
    const { digest, builtAtMs, files } = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
    const isAsBuilt = files.every(([name, sizeBytes]) => {
      const { size, mtimeMs } = statSync(join(folder, name));
      return size === sizeBytes && mtimeMs <= builtAtMs;
    });
    return isAsBuilt ? digest : undefined;
  } catch {
    return undefined;
  }
}
