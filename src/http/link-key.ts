import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDataFolder } from '../config/folders.ts';

/** The key that signs links to files: the configured secret, or one of the installation, created once. */
export function linkKey(dataDir: string, secret: string | undefined): Buffer {
  if (secret !== undefined) return Buffer.from(secret, 'utf8');
  openDataFolder(dataDir);
  const path = join(dataDir, 'link-key');
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    return readKey(path);
  } catch {
    // Written completely before it gets its name; of several servers only the first succeeds.
    writeFileSync(temporary, randomBytes(32), { mode: 0o600, flag: 'wx' });
    try {
      linkSync(temporary, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(temporary, { force: true });
    }
    return readKey(path);
  }
}

function readKey(path: string): Buffer {
  const key = readFileSync(path);
  chmodSync(path, 0o600);
  if (key.length !== 32)
    throw new Error(`${path}: not a key. Remove it to create a new one; existing links become invalid.`);
  return key;
}
