import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { HotcellError } from '../errors/hotcell-error.ts';
import { packageRoot } from '../lib/package-root.ts';
import { mountDenied } from '../sandbox/mount-denied.ts';

/** A file of Hotcell that has another name on the same file system (hard link). */
export interface LinkedFile {
  readonly path: string;
  readonly device: bigint;
}

/**
 * The first file of ours with more than one hard link. SECURITY: paths that are never mounted writable are known by
 * their paths and folders. pnpm installs packages as hard links into its store: code in a sandbox with write access to
 * the store, or to another project with the same package, could rewrite what the server loads. Files of root are out of
 * reach, because a sandbox never runs as root.
 */
export function linkedFile(root: string = packageRoot(), parts: readonly string[] = PARTS): LinkedFile | undefined {
  for (const path of parts.flatMap((part) => filesIn(join(root, part)))) {
    const { nlink, dev, uid } = statSync(path, { bigint: true });
    if (nlink > 1n && uid !== 0n) return { path, device: dev };
  }
  return undefined;
}

export function besideLinked(shown: string, { path }: LinkedFile): HotcellError {
  return mountDenied(
    `${shown}: ${path}, which Hotcell runs, is a hard link, and its other name may lie in this folder; nothing on its file system is mounted writable`,
    'Install Hotcell as copies: with npm, or after `pnpm config set package-import-method copy`. Or mount the folder read-only.',
  );
}

/** The parts of the package that the server loads or sends to a guest. */
const PARTS = ['package.json', 'dist', 'guest'];

function filesIn(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  if (!found.isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}
