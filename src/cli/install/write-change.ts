import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { chmod, chown, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { Change, FileReader } from './changes.ts';
import { readRegularFile } from './read-regular-file.ts';

const BACKUP = '.hotcell-backup';

export const diskFiles: FileReader = { text: readText, backup: (path) => readText(backupOf(path)) };

export function backupOf(path: string): string {
  return targetOf(path) + BACKUP;
}

export interface WriteOptions {
  readonly newFileMode: number;
  /** Of a project: nothing outside of it is written. */
  readonly folder?: string | undefined;
}

/**
 * Writes a change whole or not at all: a copy of the old file first, then a new file in its place. Answers with where the copy is. A configuration that
 * is a link (into a folder of dotfiles, say) is changed where it leads.
 */
export async function writeChange(change: Change, options: WriteOptions): Promise<string | undefined> {
  const { path, before, after } = change;
  if (before === after) return undefined;
  const target = targetOf(path);
  // Clients write these files too, Claude Code often: what was read is compared once more right before it is replaced.
  if (readText(path) !== before) throw changedMeanwhile(path);
  if (before === undefined) mkdirSync(dirname(target), { recursive: true });
  if (after === undefined) {
    await rm(target);
    return undefined;
  }
  const old = before === undefined ? undefined : statSync(target);
  const backup = before === undefined ? undefined : backupOf(path);
  if (backup !== undefined && before !== undefined) await replace(backup, before, old?.mode ?? 0o600, old);
  await replace(target, after, old?.mode ?? options.newFileMode, old);
  return backup;
}

/** Throws where a change must not be written. Asked of all of them before the first is. */
export function requireAllowed({ path, before, after }: Change, { folder }: WriteOptions): void {
  if (before !== after) requireBelow(targetOf(path), path, folder);
}

/** SECURITY: a project is a stranger's until it was read. A `CLAUDE.md` in it that is a link to `~/.bashrc` would have us write there. */
function requireBelow(target: string, path: string, folder: string | undefined): void {
  if (folder === undefined) return;
  const root = realpathSync(folder);
  const existing = nearestExisting(dirname(target));
  if (existing === root || existing.startsWith(root + sep)) return;
  throw unusable(path, 'a link that leads out of the project');
}

function nearestExisting(path: string): string {
  return existsSync(path) ? realpathSync(path) : nearestExisting(dirname(path));
}

async function replace(
  target: string,
  text: string,
  mode: number,
  owner: { uid: number; gid: number } | undefined,
): Promise<void> {
  const temporary = `${target}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(temporary, text, { flag: 'wx', mode: 0o600 });
    await chmod(temporary, mode & 0o777);
    // As root, the file must stay the user's own.
    if (owner !== undefined && process.getuid?.() === 0) await chown(temporary, owner.uid, owner.gid);
    const handle = await open(temporary, 'r+');
    await handle.sync().finally(() => handle.close());
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Where a path leads through links, the last of which may lead to a file that is not there yet. */
function targetOf(path: string): string {
  let target = path;
  for (let links = 0; links < 40; links += 1) {
    if (!lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink()) return target;
    target = resolve(dirname(target), readlinkSync(target));
  }
  throw new HotcellError('invalid_argument', `${path}: a link that leads back to itself`, {
    remedy: 'Remove it, and run the same command again.',
  });
}

function readText(path: string): string | undefined {
  let bytes: Buffer | undefined;
  try {
    bytes = readRegularFile(path);
  } catch (error) {
    const { code, message, syscall } = error as NodeJS.ErrnoException;
    throw unusable(path, syscall === undefined ? message : `cannot be read (${code})`);
  }
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unusable(path, 'not UTF-8 text');
  }
}

function unusable(path: string, what: string): HotcellError {
  return new HotcellError('invalid_argument', `${path}: ${what}. It was not touched`, {
    remedy: 'Run the same command with --print and paste the entry yourself.',
  });
}

function changedMeanwhile(path: string): HotcellError {
  return new HotcellError('invalid_argument', `${path}: changed by another program meanwhile. It was not touched`, {
    remedy: 'Run the same command again.',
  });
}
