import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from './ids.ts';
import { makeOwnFolder, requireTrusted } from './own-folder.ts';
import { readRegularFile } from './read-regular-file.ts';

/** The id that all servers with this data folder share. Created once. */
export function installationId(dataDir: string): string {
  const path = join(dataDir, 'installation');
  // If Hotcell is root, sandboxes run as another user, who must be able to read programs in this folder.
  makeOwnFolder(dataDir, process.getuid?.() === 0 ? 0o755 : 0o700, { rootsToo: true });
  try {
    writeFileSync(path, newId('i').slice(2, 12), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  requireTrusted(path);
  return (readRegularFile(path, LARGEST_BYTES) ?? '').toString().trim();
}

const LARGEST_BYTES = 1_000;

/** The id of the installation with this data folder; undefined if no Hotcell has written there. */
export function foundInstallation(dataDir: string): string | undefined {
  try {
    const id = (readRegularFile(join(dataDir, 'installation'), LARGEST_BYTES) ?? '').toString().trim();
    return /^[0-9a-f]{10}$/.test(id) ? id : undefined;
  } catch {
    return undefined; // a folder, a FIFO or a file of another program
  }
}
