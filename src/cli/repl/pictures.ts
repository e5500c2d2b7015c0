import { open } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Display, Representation } from '../../execution/result.ts';
import { makeTemporaryFolder } from '../../lib/own-folder.ts';
import { holdPlace } from '../named-place.ts';
import { type OpenFolder, openFolder } from '../open-folder.ts';
import type { Writable } from '../part-below.ts';
import { namedDisplays, picturesOf } from '../run/displays.ts';
import type { ImageProtocol } from '../terminal.ts';

/** Saves displays that a terminal cannot print as files of the host. */
export interface Pictures extends Disposable {
  /** Saves a display and resolves with its path; undefined if there is nothing to save. */
  save(display: Display): Promise<string | undefined>;
  /** Path of the folder, once it contains a file. */
  folder(): string | undefined;
}

/**
 * Saves to `given`, or to a new temporary folder that is created with the first picture. Pictures stay when the session
 * is closed.
 */
export function createPictures(given?: string, writable: Writable = []): Pictures {
  let folder: OpenFolder | undefined;
  let count = 0;
  // SECURITY: held open from the start, before code in the sandbox can replace it by a link.
  const place = given === undefined ? undefined : holdPlace(given, { writable });

  async function made(): Promise<OpenFolder> {
    return place?.make() ?? openFolder(await makeTemporaryFolder('hotcell-'));
  }

  return {
    folder: () => folder?.path,
    async save(display) {
      const [named] = namedDisplays([display], new Set());
      if (named === undefined) return undefined;
      folder ??= await made();
      for (;;) {
        count += 1;
        const stem = picturesOf([display]).length === 0 ? 'display' : 'figure';
        const name = `${stem}-${count}${extname(named.name)}`;
        if (await writeNew(folder.entry(name), named.data)) return join(folder.path, name);
      }
    },
    [Symbol.dispose]() {
      folder?.[Symbol.dispose]();
      place?.[Symbol.dispose]();
    },
  };
}

/** Creates a file. Returns false if the path exists already, even as a link. */
async function writeNew(path: string, data: Buffer): Promise<boolean> {
  try {
    const handle = await open(path, 'wx', 0o600);
    await handle.writeFile(data).finally(() => handle.close());
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

const LARGEST_INLINE_BYTES = 4 * 1_048_576;
const KITTY_PIECE_CHARS = 4096;

/**
 * The sequence that shows a picture inline, if terminal and picture allow it. SECURITY: the picture is in base64, so it
 * cannot contain a sequence.
 */
export function inlineSequence({ representations }: Display, protocol: ImageProtocol | undefined): string | undefined {
  const find = (type: string) => representations.find(({ mediaType }) => mediaType === type);
  const picture: Representation | undefined =
    protocol === 'kitty' ? find('image/png') : (find('image/png') ?? find('image/jpeg') ?? find('image/gif'));
  if (protocol === undefined || picture === undefined || picture.data.length > LARGEST_INLINE_BYTES) return undefined;
  const data = picture.data.toString('base64');
  if (protocol === 'iterm') return `\x1b]1337;File=inline=1;size=${picture.data.length}:${data}\x07\n`;
  const pieces = data.match(new RegExp(`.{1,${KITTY_PIECE_CHARS}}`, 'g')) ?? [];
  return `${pieces
    .map((piece, index) => {
      const first = index === 0 ? 'a=T,f=100,' : '';
      return `\x1b_G${first}m=${index === pieces.length - 1 ? 0 : 1};${piece}\x1b\\`;
    })
    .join('')}\n`;
}
