import { randomBytes } from 'node:crypto';
import { lstat, rename, rm, writeFile } from 'node:fs/promises';
import { HotcellError } from '../errors/hotcell-error.ts';
import { namedPlace } from './named-place.ts';

/**
 * Writes a file that the user named, whole or not at all: what lies there is replaced, never written into. `overwrite: false` fails with EEXIST where something
 * lies there.
 */
export async function writeOutput(path: string, text: string, { overwrite = true } = {}): Promise<void> {
  const target = outputPlace(path);
  if (!overwrite) return writeFile(target, text, { flag: 'wx' });
  const old = await lstat(target).catch(() => undefined);
  // Opening a pipe would wait for its reader, for ever; and a device is no place for a notebook.
  if (old !== undefined && !old.isFile()) throw unsuitable(path, 'something is there that is no file');
  const temporary = `${target}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(temporary, text, { flag: 'wx', ...(old === undefined ? {} : { mode: old.mode & 0o777 }) });
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Where a path that the user named for output leads. */
export function outputPlace(path: string): string {
  return namedPlace(path, 'Nothing was written');
}

function unsuitable(path: string, what: string): HotcellError {
  return new HotcellError('invalid_argument', `${path}: ${what}. Nothing was written`, {
    remedy: 'Choose another path, or the target of the link.',
  });
}
