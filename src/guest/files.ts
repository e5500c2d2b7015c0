import type { ErrorCode } from '../errors/codes.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import { quotedName, saidInside } from '../lib/said-inside.ts';
import type { GuestConnection } from './connection.ts';
import { type FileEntry, fileList, listReply, nothing, sizeReply } from './messages.ts';
import { createPatience } from './patience.ts';
import { GuestRefusal } from './pending-requests.ts';
import { type Pieces, upload, withdraw } from './upload.ts';

/** Files of the workspace, read and written inside the sandbox by the guest: a link that was planted there leads nowhere. */

/** Reads a file in pieces. Stopping early leaves the rest unread. */
export async function* readPieces(
  connection: GuestConnection,
  path: string,
  range: { offset?: number; length?: number } = {},
): AsyncGenerator<Buffer> {
  const pieces: { data: Buffer; taken: () => void }[] = [];
  let wake: (() => void) | undefined;
  let ended = false;
  let failure: unknown;
  // A reader of ours that takes its time is not the guest's silence.
  const patience = createPatience({ isOurTurn: () => pieces.length > 0 });
  const stream = connection.openStream((frame) => {
    if (frame.head.type !== 'chunk') return;
    patience.progress();
    return new Promise<void>((taken) => {
      pieces.push({ data: frame.body, taken });
      wake?.();
    });
  });
  connection.request({ type: 'file.read', stream: stream.id, path, ...range }, sizeReply, { patience }).then(
    () => {
      ended = true;
      wake?.();
    },
    (error: unknown) => {
      failure = fileError(error, path);
      wake?.();
    },
  );
  try {
    while (true) {
      const piece = pieces.shift();
      if (piece !== undefined) {
        piece.taken();
        yield piece.data;
      } else if (failure !== undefined) throw failure;
      else if (ended) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    stream.release();
    pieces.length = 0; // SECURITY: a guest that never answers the read would keep them, and its silence would count as ours
    if (!ended && failure === undefined) withdraw(connection, stream.id);
  }
}

/** The size of a regular file, by reading nothing of it. */
export async function fileSize(connection: GuestConnection, path: string): Promise<number> {
  const stream = connection.openStream(() => {});
  try {
    const { result } = await connection.request({ type: 'file.read', stream: stream.id, path, length: 0 }, sizeReply);
    return result.sizeBytes;
  } catch (error) {
    throw fileError(error, path);
  } finally {
    stream.release();
  }
}

/** Reads a whole file, at most `limitBytes` of it. */
export async function readWhole(connection: GuestConnection, path: string, limitBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of readPieces(connection, path)) {
    size += piece.length;
    if (size > limitBytes) {
      throw new HotcellError('file_too_large', `${quotedName(path)} is larger than ${limitBytes} bytes`, {
        remedy: 'Read it in pieces.',
        data: { limitBytes },
      });
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

export type WriteMode = 'create' | 'replace' | 'append';

/** Writes a file from pieces, waiting for the guest to take them. Returns its size. */
export async function writePieces(
  connection: GuestConnection,
  path: string,
  mode: WriteMode,
  pieces: Pieces,
): Promise<number> {
  try {
    const { result } = await upload(connection, { type: 'file.write', path, mode }, pieces, { schema: sizeReply });
    return result.sizeBytes;
  } catch (error) {
    throw error instanceof GuestRefusal ? fileError(error, path) : error;
  }
}

export async function listFolder(
  connection: GuestConnection,
  path: string,
  options: { recursive: boolean; limit: number },
): Promise<{ entries: FileEntry[]; omitted: number }> {
  try {
    const { result, body } = await connection.request({ type: 'file.list', path, ...options }, listReply);
    return { entries: fileList.parse(JSON.parse(body.toString('utf8'))), omitted: result.omitted };
  } catch (error) {
    throw fileError(error, path);
  }
}

export async function removePath(connection: GuestConnection, path: string, recursive: boolean): Promise<void> {
  await connection.request({ type: 'file.remove', path, recursive }, nothing).catch((error: unknown) => {
    throw fileError(error, path);
  });
}

// SECURITY: a Map, because the key is a stranger's: `__proto__` and `constructor` are names like any other.
const REFUSALS: ReadonlyMap<string, Refused> = new Map<string, Refused>([
  [
    'bad-path',
    {
      code: 'bad_path',
      remedy: 'Name it by its path in the workspace, such as data/sales.csv. Links are not followed.',
    },
  ],
  [
    'not-found',
    {
      code: 'file_not_found',
      message: 'there is no such file',
      remedy: 'List the files of the workspace to see what is there.',
    },
  ],
  [
    'exists',
    {
      code: 'file_exists',
      message: 'it is there already',
      remedy: 'Write it under another name, or remove that one first.',
    },
  ],
  [
    'no-space',
    {
      code: 'disk_full',
      message: 'there is no room for it',
      remedy: 'Remove files that are not needed, or open a session with more disk.',
    },
  ],
  ['io', { code: 'file_failed' }],
  ['bad-request', { code: 'invalid_argument' }],
  ['cancelled', { code: 'cancelled', message: 'withdrawn' }],
  ['not-offered', { code: 'not_offered', message: 'this sandbox does not serve files in that way' }],
]);

interface Refused {
  readonly code: ErrorCode;
  /** In our words. Without it the guest's are quoted. */
  readonly message?: string;
  readonly remedy?: string;
}

function fileError(error: unknown, path: string): unknown {
  if (error instanceof HotcellError) return error;
  if (!(error instanceof GuestRefusal)) {
    return new HotcellError('guest_misbehaved', 'the guest answered a file request with what cannot be read', {
      cause: error,
    });
  }
  const { code, message, remedy }: Refused = REFUSALS.get(error.code) ?? { code: 'guest_misbehaved' };
  const said = message ?? saidInside(error.message);
  return new HotcellError(code, `${quotedName(path)}: ${said}`, remedy === undefined ? {} : { remedy });
}
