import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, extname, isAbsolute, join, relative, sep } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { isWithin } from '../../lib/is-within.ts';
import { requireTrusted } from '../../lib/own-folder.ts';
import { readRegularFile } from '../../lib/read-regular-file.ts';
import { UntrustedPathError } from '../../lib/untrusted-path.ts';
import type { Change, FileReader } from './changes.ts';
import { type HeldParent, holdParent } from './held-parent.ts';

const BACKUP = '.hotcell-backup';

export const diskFiles: FileReader = { text: (path) => readText(path), backup: (path) => readText(backupOf(path)) };

export function backupOf(path: string): string {
  return targetOf(path) + BACKUP;
}

export interface WriteOptions {
  readonly newFileMode: number;
  /** Folder of the project. Nothing outside of it is written. */
  readonly folder?: string | undefined;
  /** `remove`, after undoing: the backup has served. `keep`: it is from before an earlier change of Hotcell's. */
  readonly backup?: 'write' | 'keep' | 'remove';
}

/**
 * Writes a change atomically: first a copy of the old file, then a new file in its place. Returns the path of the copy.
 * A configuration that is a link (into a folder of dotfiles, say) is changed at its target.
 *
 * SECURITY: the folder is held open from the checks on, and all operations use its entries and the handles of new
 * files. An attacker who puts a link in the place of a folder or of a temporary file meanwhile cannot have a file
 * written, given away or removed elsewhere.
 */
export async function writeChange(change: Change, options: WriteOptions): Promise<string | undefined> {
  const { path, before, after } = change;
  if (before === after) return undefined;
  requireAllowed(change, options);
  try {
    const target = targetOf(path);
    const parent = await holdParent(dirname(target));
    if (parent === undefined) throw changedMeanwhile(path);
    try {
      requireBelow(parent.path, path, options.folder);
      requireNamedPlace(path, join(parent.path, basename(target)), options.folder);
      await writeInto(parent, basename(target), change, options);
    } finally {
      await parent.close();
    }
    const isWritten = before !== undefined && after !== undefined && options.backup !== 'remove';
    return isWritten ? target + BACKUP : undefined;
  } catch (error) {
    throw explained(path, error);
  }
}

async function writeInto(parent: HeldParent, name: string, change: Change, options: WriteOptions): Promise<void> {
  const { path, before, after } = change;
  const target = parent.entry(name);
  const old = lstatSync(target, { throwIfNoEntry: false });
  // Clients write these files too, Claude Code often. So the content is compared once more right before it is replaced.
  if (old?.isSymbolicLink() || readText(target, path) !== before) throw changedMeanwhile(path);
  const { backup = 'write' } = options;
  if (after === undefined) await rm(target);
  else {
    if (before !== undefined && backup === 'write')
      await replace(parent.entry(name + BACKUP), before, old?.mode ?? 0o600, old);
    await replace(target, after, old?.mode ?? options.newFileMode, old);
  }
  if (backup === 'remove') await rm(parent.entry(name + BACKUP), { force: true });
}

/** Throws if a change must not be written. Checked for all changes before the first is written, and again for each. */
export function requireAllowed({ path, before, after }: Change, { folder }: WriteOptions): void {
  if (before === after) return;
  try {
    const target = targetOf(path);
    const existing = nearestExisting(dirname(target));
    requireBelow(existing, path, folder);
    requireNamedPlace(path, target, folder);
    requireOwn(existing, path);
    requireOwn(target, path);
  } catch (error) {
    throw explained(path, error);
  }
}

/**
 * SECURITY: a project may be a stranger's. A `CLAUDE.md` in it that is a link to `~/.bashrc` would have Hotcell write
 * there.
 */
function requireBelow(existing: string, path: string, folder: string | undefined): void {
  if (folder === undefined || isWithin(existing, realpathSync.native(folder))) return;
  throw unusable(path, 'a symbolic link that leads out of the project');
}

/**
 * SECURITY: within a stranger's project, too, a link could lead to a file with another purpose: `CLAUDE.md` to
 * `.git/config`, which breaks git, or `.cursor` to `.git/hooks`. The one link that projects have for a reason is
 * `CLAUDE.md` to a file beside it, `AGENTS.md`.
 */
function requireNamedPlace(path: string, target: string, folder: string | undefined): void {
  if (folder === undefined) return;
  const project = realpathSync.native(folder);
  const names = relative(folder, path).split(sep);
  const named = join(project, ...names);
  const linked = names.slice(0, -1).some((_, at) => isLink(join(project, ...names.slice(0, at + 1))));
  const isBeside = realParent(target) === dirname(named) && extname(target) === extname(named);
  if (linked || !isBeside) throw unusable(path, 'a symbolic link, which is not followed in a project');
}

/** The folder of a file without links; as it is if it does not exist yet. */
function realParent(target: string): string {
  const folder = dirname(target);
  return existsSync(folder) ? realpathSync.native(folder) : join(realParent(folder), basename(folder));
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/**
 * SECURITY: a user who can write to the folder of a configuration decides what a client runs. And the new file gets the
 * owner and mode of the old one, which therefore must not be another user's.
 */
function requireOwn(existing: string, path: string): void {
  try {
    requireTrusted(existing);
  } catch (error) {
    if (!(error instanceof UntrustedPathError)) throw error;
    const isShared = (lstatSync(error.path).mode & 0o1000) !== 0; // such as /tmp, which is shared by design
    const mend = isShared
      ? 'Move the project to a folder of your own'
      : ((error.command && `Run: ${error.command}`) ?? 'Run it as the owner of the folder');
    throw new HotcellError('invalid_argument', `${path} was not changed: ${error.message}`, {
      remedy: `${mend}. Or run the same command with --print, and paste the entry yourself.`,
    });
  }
}

function nearestExisting(path: string): string {
  return existsSync(path) ? realpathSync.native(path) : nearestExisting(dirname(path));
}

/** Turns a folder that is not writable, or was exchanged meanwhile, into an error for the user. */
function explained(path: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall === undefined ? error : unusable(path, `cannot be written (${code})`);
}

async function replace(target: string, text: string, mode: number, old: Stats | undefined): Promise<void> {
  const temporary = `${target}.${randomBytes(6).toString('hex')}`;
  const handle = await open(temporary, 'wx', 0o600);
  try {
    try {
      await handle.writeFile(text);
      await handle.chmod(mode & 0o777);
      // As root, keep the group that could read the file.
      if (old !== undefined && process.getuid?.() === 0) await handle.chown(old.uid, old.gid);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/**
 * Follows one link. SECURITY: name by name as the kernel does, and not as text: with a planted link `d`, `d/../key` is
 * not `key`. Otherwise Hotcell would read one file and write its content to the other.
 */
function afterLink(link: string): string {
  const led = readlinkSync(link);
  const next = isAbsolute(led) ? led : `${dirname(link)}/${led}`;
  return `${realpathSync.native(dirname(next))}/${basename(next)}`;
}

/** The target of a path through links. The last link may lead to a file that does not exist yet. */
function targetOf(path: string): string {
  let target = path;
  for (let links = 0; links < 40; links += 1) {
    if (!lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink()) return target;
    target = afterLink(target);
  }
  throw new HotcellError('invalid_argument', `${path}: a symbolic link that points to itself`, {
    remedy: 'Remove it, and run the same command again.',
  });
}

function readText(place: string, path = place): string | undefined {
  let bytes: Buffer | undefined;
  try {
    bytes = readRegularFile(place);
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
  return new HotcellError('invalid_argument', `${path}: ${what}; the file was not changed`, {
    remedy: 'Run the same command with --print and paste the entry yourself.',
  });
}

function changedMeanwhile(path: string): HotcellError {
  return new HotcellError(
    'invalid_argument',
    `${path}: another program changed it at the same time; the file was not changed`,
    {
      remedy: 'Run the same command again.',
    },
  );
}
