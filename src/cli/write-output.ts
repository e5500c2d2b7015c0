import { randomBytes } from 'node:crypto';
import { lstatSync, realpathSync } from 'node:fs';
import { lstat, rename, rm, writeFile } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import { HotcellError } from '../errors/hotcell-error.ts';
import { isWithin } from '../lib/is-within.ts';

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

/**
 * Where a path that the user named leads, for a file or a folder that may not be there yet. SECURITY: whoever works in a stranger's repository may name `out` in it,
 * which the stranger made a link to `~/.ssh`. Below the current folder a link that leads out of it, or nowhere, is refused. A path elsewhere is the user's own affair.
 */
export function outputPlace(path: string): string {
  const here = process.cwd();
  const place = resolve(path);
  if (!isWithin(place, here)) return place;
  let reached = realpathSync.native(here);
  const root = reached;
  for (const name of relative(here, place).split(sep).filter(Boolean)) {
    reached = resolve(reached, name);
    if (lstatSync(reached, { throwIfNoEntry: false })?.isSymbolicLink() !== true) continue;
    const led = leadsTo(reached);
    if (led === undefined || !isWithin(led, root)) {
      throw unsuitable(path, `${relative(root, reached)} is a link that leads out of this folder`);
    }
    reached = led;
  }
  return reached;
}

function leadsTo(link: string): string | undefined {
  try {
    return realpathSync.native(link); // The other one takes `d/..` as text.
  } catch {
    return undefined;
  }
}

function unsuitable(path: string, what: string): HotcellError {
  return new HotcellError('invalid_argument', `${path}: ${what}. Nothing was written`, {
    remedy: 'Name another place, or the one that it leads to.',
  });
}
