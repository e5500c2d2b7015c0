import { mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type HeldFolder, holdFolder } from '../../lib/held-folder.ts';

/** The folder of a file, held open. */
export interface HeldParent {
  /**
   * Path of an entry of the folder that was opened, even if another folder has taken its name since. Only Linux has
   * such paths.
   */
  entry(name: string): string;
  /** Path of the folder without links. */
  readonly path: string;
  close(): Promise<void>;
}

/**
 * Opens a folder, and creates missing parts, each below one that is held open. Undefined if a folder was exchanged
 * meanwhile. SECURITY: files written below `entry` land in the folder that was opened, and `path` is its path according
 * to the kernel.
 */
export async function holdParent(path: string): Promise<HeldParent | undefined> {
  const real = realOf(path);
  if (real !== undefined) return asParent(await holdFolder(real));
  const above = await holdParent(dirname(path));
  if (above === undefined) return undefined;
  try {
    makeUnlessThere(above.entry(basename(path)));
    return asParent(await holdFolder(join(above.path, basename(path))));
  } finally {
    await above.close();
  }
}

function asParent(held: HeldFolder | undefined): HeldParent | undefined {
  if (held === undefined) return undefined;
  const place = process.platform === 'linux' ? `/proc/self/fd/${held.fd}` : held.path;
  return { path: held.path, entry: (name) => join(place, name), close: held.close };
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(path) !== path) return undefined;
    throw error;
  }
}

function makeUnlessThere(path: string): void {
  try {
    mkdirSync(path, 0o755); // whatever the umask: a folder that others can write to would be refused next time
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
