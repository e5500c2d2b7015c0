import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from './ids.ts';
import { makeFolder } from './make-folder.ts';

/** The id that all servers with this data folder share. Made once. */
export function installationId(dataDir: string): string {
  const path = join(dataDir, 'installation');
  makeFolder(dataDir, 0o755);
  try {
    writeFileSync(path, newId('i').slice(2, 12), { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(path, 'utf8').trim();
}
