import { mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type HeldFolder, holdFolder } from '../../lib/held-folder.ts';

/** The folder of a file, held open. */
export interface HeldParent {
  /** Leads to an entry of the folder that was opened, also where another has taken its name since; Linux alone can say that. */
  entry(name: string): string;
  /** Where it lies, without links. */
  readonly path: string;
  close(): Promise<void>;
}

/**
 * Opens a folder, and makes what is missing of it, each below one that is held. Nothing where somebody exchanges a folder meanwhile. SECURITY: what is written
 * below `entry` lands in the folder that was opened, and `path` is where the kernel says that one lies.
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
    mkdirSync(path, 0o755); // whatever the umask is: one that others may write to would be refused the next time
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
