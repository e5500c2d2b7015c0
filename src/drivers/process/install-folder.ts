import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { newId } from '../../lib/ids.ts';
import { makeOwnFolder, requireTrusted } from '../../lib/own-folder.ts';

/**
 * Fills a folder under a temporary name and renames it, so that another Hotcell sees it complete or not at all.
 * SECURITY: every sandbox runs programs from it, so a folder that another user could have written is refused.
 */
export async function installFolder(folder: string, fill: (folder: string) => Promise<void>): Promise<string> {
  makeOwnFolder(dirname(folder), 0o755, { rootsToo: true });
  requireTrusted(folder);
  if (existsSync(folder)) return folder;
  const temporary = join(dirname(folder), newId('making'));
  await mkdir(temporary, { mode: 0o700 });
  try {
    await fill(temporary);
    await openToOthers(temporary);
    await rename(temporary, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return folder;
}

/**
 * Opens the files to all users, independent of the umask. The folder comes last: until then other users cannot reach
 * files that a loose umask lets them write.
 */
async function openToOthers(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToOthers(path);
    else await chmod(path, ((await stat(path)).mode & 0o111) === 0 ? 0o644 : 0o755);
  }
  await chmod(folder, 0o755);
}
