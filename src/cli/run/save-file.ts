import { constants, type FileHandle, lstat, mkdir, open, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { isWorkspacePath } from '../../lib/workspace-path.ts';
import { shownName } from '../print.ts';

export type Content = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

const { O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/**
 * Writes a file below `root`, with the folders on its way. SECURITY: the path comes from a sandbox or a server. The way is walked name by name, each
 * folder is looked at before anything is made in it, and no link is followed: neither one that lies there, nor one that is put there meanwhile.
 */
export async function saveFile(
  root: string,
  path: string,
  content: Content,
  { room, limitBytes }: { room: Room; limitBytes: number },
): Promise<void> {
  const names = path.split('/');
  if (path.length > LONGEST_PATH || names.length > MOST_NAMES) throw tooMuch(path, 'is a path that is too long');
  // Windows knows two more characters that end a name.
  if (!isWorkspacePath(path) || (process.platform === 'win32' && /[\\:]/.test(path))) throw outside(path);
  const last = names.pop()!;
  let folder = await openFolder(root);
  try {
    for (const name of names) {
      const next = await stepInto(folder, name, { path, room });
      await folder.handle.close();
      folder = next;
    }
    const most = Math.min(limitBytes, room.bytes);
    room.bytes -= await writeBounded(`${folder.place}/${last}`, path, content, most);
  } finally {
    await folder.handle.close();
  }
}

/** What may still be written in all, and how many folders made for it. */
export interface Room {
  bytes: number;
  folders: number;
}

/** As in a guest's lists. SECURITY: one path of a server's could name a million folders. */
const LONGEST_PATH = 4_200;
const MOST_NAMES = 100;

/** A folder that is held open. `place` leads to the one that was opened, also where another has taken its name since; Linux alone can say that. */
interface OpenFolder {
  readonly handle: FileHandle;
  readonly place: string;
}

async function openFolder(path: string, flags = 0): Promise<OpenFolder> {
  const handle = await open(path, O_RDONLY | O_DIRECTORY | flags);
  return { handle, place: process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path };
}

async function stepInto(
  { place }: OpenFolder,
  name: string,
  { path, room }: { path: string; room: Room },
): Promise<OpenFolder> {
  const next = `${place}/${name}`;
  const isThere = await lstat(next).then(
    () => true,
    () => false,
  );
  if (!isThere && room.folders === 0) throw tooMuch(path, 'needs more folders than are made for one run');
  if (!isThere) room.folders -= 1;
  await mkdir(next).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  return openFolder(next, O_NOFOLLOW).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ELOOP' || error.code === 'ENOTDIR' || error.code === 'EMLINK' ? outside(path) : error;
  });
}

/** Writing over a file of the same name is what running a program again asks for; writing through a link, or into a pipe or a device, is not. */
async function writeBounded(place: string, path: string, content: Content, limitBytes: number): Promise<number> {
  const handle = await open(place, O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_WRONLY);
  let size = 0;
  try {
    if (!(await handle.stat()).isFile()) throw unsuitable(path);
    await handle.truncate();
  } catch (error) {
    await handle.close();
    throw error;
  }
  try {
    await pipeline(bounded(), handle.createWriteStream());
    return size;
  } catch (error) {
    await rm(place, { force: true }); // half a file is taken for a whole one
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

function outside(path: string): HotcellError {
  return new HotcellError('bad_path', `an artifact has the path ${shownName(path)}, which leads out of its folder`, {
    remedy: 'It was not copied. Do not trust what this program makes.',
  });
}

function unsuitable(path: string): HotcellError {
  return new HotcellError('bad_path', `where ${shownName(path)} would be written there is something that is no file`);
}

function tooMuch(path: string, what: string): HotcellError {
  return new HotcellError('bad_path', `${shownName(path.slice(0, 100))} ${what}`);
}

function tooLarge(path: string, limitBytes: number): HotcellError {
  return new HotcellError(
    'file_too_large',
    `${shownName(path)} has more than the ${limitBytes} bytes that were allowed`,
  );
}
