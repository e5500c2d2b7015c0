import { randomBytes } from 'node:crypto';
import { lstat, rename, rm, writeFile } from 'node:fs/promises';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { NamedFile } from './named-file.ts';

/**
 * Writes a file that the user named atomically: an existing file is replaced, never written into. `overwrite: false`
 * fails with EEXIST if something exists there.
 */
export async function writeOutput(file: NamedFile, text: string, { overwrite = true } = {}): Promise<void> {
  using folder = file.folder.open();
  file.refuseLink();
  const target = folder.entry(file.name);
  if (!overwrite) return await writeFile(target, text, { flag: 'wx' });
  const old = await lstat(target).catch(() => undefined);
  // Opening a pipe would wait for its reader for ever, and a device is no place for a notebook.
  if (old !== undefined && !old.isFile()) throw unsuitable(file.typed);
  const temporary = folder.entry(`${file.name}.${randomBytes(6).toString('hex')}`);
  try {
    await writeFile(temporary, text, { flag: 'wx', ...(old === undefined ? {} : { mode: old.mode & 0o777 }) });
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

function unsuitable(path: string): HotcellError {
  return new HotcellError('invalid_argument', `${path}: something is there that is no file. Nothing was written`, {
    remedy: 'Choose another path.',
  });
}
