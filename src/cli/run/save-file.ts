import { randomBytes } from 'node:crypto';
import { lstatSync, type Stats } from 'node:fs';
import { access, constants, lstat, open, rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { isWorkspacePath } from '../../lib/workspace-path.ts';
import { makeInside, type OpenFolder, openAgain } from '../open-folder.ts';
import { shownName } from '../print.ts';

export type Content = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/**
 * Writes a file below `root`, and creates its folders. SECURITY: the path comes from a sandbox or a server. It is
 * walked from the open folder, name by name; each folder is checked before anything is created in it, and no link is
 * followed, even one that is put there meanwhile.
 */
export async function saveFile(
  root: OpenFolder,
  path: string,
  content: Content,
  { room, limitBytes }: { room: Room; limitBytes: number },
): Promise<void> {
  const names = path.split('/');
  if (path.length > LONGEST_PATH || names.length > MOST_NAMES) throw tooMuch(path, 'is too long a path');
  // On Windows two more characters end a name.
  if (!isWorkspacePath(path) || (process.platform === 'win32' && /[\\:]/.test(path))) throw outside(path);
  const last = names.pop()!;
  let at = openAgain(root);
  for (const name of names) {
    using above = at;
    at = stepIntoNew(above, name, { path, room });
  }
  using folder = at;
  const most = Math.min(limitBytes, room.bytes);
  room.bytes -= await writeBounded(folder, last, content, { path, limitBytes: most });
}

/** Remaining budget: bytes to write and folders to create. */
export interface Room {
  bytes: number;
  folders: number;
}

/** Maximum length of a path, as in the guest's lists. SECURITY: one path of a server could name a million folders. */
const LONGEST_PATH = 4_200;
const MOST_NAMES = 100;

function stepIntoNew(folder: OpenFolder, name: string, { path, room }: { path: string; room: Room }): OpenFolder {
  const isThere = lstatSync(folder.entry(name), { throwIfNoEntry: false }) !== undefined;
  if (!isThere && room.folders === 0) throw tooMuch(path, 'needs more folders than one run may create');
  if (!isThere) room.folders -= 1;
  try {
    return makeInside(folder, name);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw ['ELOOP', 'ENOTDIR', 'EMLINK'].includes(code) ? outside(path) : error;
  }
}

/**
 * Replaces a file of the same name once the new one is complete, as running a program again should. A download that
 * fails leaves the old file. A link, a pipe or a device of that name is left alone; a link that is put there meanwhile
 * is itself replaced, not its target.
 */
async function writeBounded(
  folder: OpenFolder,
  name: string,
  content: Content,
  { path, limitBytes }: { path: string; limitBytes: number },
): Promise<number> {
  const mode = await replaceableMode(folder.entry(name), path);
  const temporary = folder.entry(`.hotcell-${randomBytes(8).toString('hex')}`);
  const handle = await open(temporary, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, mode ?? 0o666);
  let size = 0;
  try {
    if (mode !== undefined) await handle.chmod(mode);
    await pipeline(bounded(), handle.createWriteStream());
    await rename(temporary, folder.entry(name));
    return size;
  } catch (error) {
    await handle.close().catch(() => {});
    await rm(temporary, { force: true });
    throw error;
  }

  async function* bounded(): AsyncGenerator<Uint8Array> {
    for await (const piece of content) {
      size += piece.length;
      if (size > limitBytes) throw tooLarge(path, limitBytes);
      yield piece;
    }
  }
}

/**
 * The mode of the file to be replaced; undefined if there is none. Throws if it is not a regular file, or is
 * write-protected.
 */
async function replaceableMode(place: string, path: string): Promise<number | undefined> {
  const old = await lstat(place).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (old === undefined) return undefined;
  if (!old.isFile()) throw unsuitable(path, old);
  await access(place, constants.W_OK);
  return old.mode & 0o777;
}

function outside(path: string): HotcellError {
  return new HotcellError('bad_path', `an artifact has the path ${shownName(path)}, which is outside its folder`, {
    remedy: 'It was not copied. Do not trust the files of this program.',
  });
}

function unsuitable(path: string, there: Stats): HotcellError {
  const kinds = { folder: there.isDirectory(), link: there.isSymbolicLink(), pipe: there.isFIFO() };
  const kind = Object.entries(kinds).find(([, is]) => is)?.[0] ?? 'device';
  return new HotcellError('bad_path', `a ${kind} named ${shownName(path)} already exists`);
}

function tooMuch(path: string, what: string): HotcellError {
  return new HotcellError('bad_path', `${shownName(path.slice(0, 100))} ${what}`);
}

function tooLarge(path: string, limitBytes: number): HotcellError {
  return new HotcellError('file_too_large', `${shownName(path)} is larger than the limit of ${limitBytes} bytes`);
}
