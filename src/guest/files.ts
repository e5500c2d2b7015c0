import type { ErrorCode } from '../errors/codes.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import { unlessAborted } from '../lib/abort.ts';
import { deferred } from '../lib/deferred.ts';
import { ProtocolViolation } from '../lib/frames.ts';
import { createGatheredBytes } from '../lib/gathered-bytes.ts';
import { quotedName, saidInside } from '../lib/said-inside.ts';
import { LIST_LIMITS, parseUtf8Json } from '../lib/utf8-json.ts';
import type { GuestConnection } from './connection.ts';
import { typeOf } from './describe-violation.ts';
import { type FileEntry, fileList, listReply, nothing, sizeReply } from './messages.ts';
import { createPatience } from './patience.ts';
import { GuestRefusal } from './pending-requests.ts';
import type { GuestStream } from './stream-table.ts';
import { type Pieces, upload, withdraw } from './upload.ts';

/**
 * Files of the workspace. The guest reads and writes them inside the sandbox, so that a planted link cannot lead out of
 * it.
 */

/** A part of a file; the whole file by default. */
export interface FileRange {
  readonly offset?: number;
  readonly length?: number;
}

/** The signal with which a caller withdraws. The operation then rejects with its reason, without waiting for the guest. */
export interface FileOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Reads a file in pieces. Stopping early leaves the rest unread. */
export async function* readPieces(
  connection: GuestConnection,
  path: string,
  { offset, length }: FileRange = {},
  { signal }: FileOptions = {},
): AsyncGenerator<Buffer> {
  signal?.throwIfAborted();
  const range = { ...(offset === undefined ? {} : { offset }), ...(length === undefined ? {} : { length }) };
  const arrived = createGatheredBytes();
  let taken = deferred<void>();
  let toYield = 0;
  let wake: (() => void) | undefined;
  let ended = false;
  let failure: unknown;
  // A slow reader on the host does not count as silence of the guest.
  const patience = createPatience({ isOurTurn: () => arrived.length() + toYield > 0 });
  const stream = openRead(connection, range, (body) => {
    patience.progress(body.length);
    arrived.push(body);
    wake?.();
    return taken.promise;
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
  const stop = () => wake?.();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    while (true) {
      signal?.throwIfAborted();
      if (arrived.length() > 0) {
        const pieces = arrived.take();
        toYield = pieces.length;
        taken.resolve();
        taken = deferred<void>();
        for (const piece of pieces) {
          yield piece;
          toYield -= 1;
          signal?.throwIfAborted();
        }
      } else if (failure !== undefined) throw failure;
      else if (ended) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    stream.release();
    // SECURITY: a guest that never answers the read would keep the chunks in memory, and its silence would count as the
    // reader's.
    arrived.take();
    toYield = 0;
    if (!ended && failure === undefined) withdraw(connection, stream.id);
  }
}

/**
 * Opens the stream of a read. SECURITY: the guest may send no more than the requested range. Otherwise endless data
 * would fill the server's memory, and endless empty chunks would keep a reader waiting for ever.
 */
function openRead(
  connection: GuestConnection,
  { length = Number.POSITIVE_INFINITY }: FileRange,
  receive: (body: Buffer) => Promise<void>,
): GuestStream {
  let left = length;
  return connection.openStream(({ head, body }) => {
    if (head.type !== 'chunk') throw new ProtocolViolation(`file.read: ${typeOf({ head })} is no chunk`);
    if (body.length === 0) throw new ProtocolViolation('file.read: a chunk without bytes');
    left -= body.length;
    if (left < 0) throw new ProtocolViolation(`file.read: more than the ${length} bytes that were asked for`);
    return receive(body);
  });
}

/** The size of a regular file, without reading it. */
export async function fileSize(
  connection: GuestConnection,
  path: string,
  { signal }: FileOptions = {},
): Promise<number> {
  signal?.throwIfAborted();
  const range = { length: 0 };
  const stream = openRead(connection, range, async () => {});
  try {
    const reply = connection.request({ type: 'file.read', stream: stream.id, path, ...range }, sizeReply);
    const { result } = await unlessAborted(reply, signal);
    return result.sizeBytes;
  } catch (error) {
    signal?.throwIfAborted();
    throw fileError(error, path);
  } finally {
    stream.release();
  }
}

/** Reads a whole file, at most `limitBytes` of it. */
export async function readWhole(
  connection: GuestConnection,
  path: string,
  limitBytes: number,
  options: FileOptions = {},
): Promise<Buffer> {
  const whole = createGatheredBytes();
  for await (const piece of readPieces(connection, path, {}, options)) {
    whole.push(piece);
    if (whole.length() > limitBytes) {
      throw new HotcellError('file_too_large', `${quotedName(path)} is larger than ${limitBytes} bytes`, {
        remedy: 'Read it in chunks.',
        data: { limitBytes },
      });
    }
  }
  return Buffer.concat(whole.take());
}

export type WriteMode = 'create' | 'replace' | 'append';

/** Writes a file from pieces, with backpressure from the guest. Returns its size. */
export async function writePieces(
  connection: GuestConnection,
  path: string,
  pieces: Pieces,
  { mode, signal }: FileOptions & { readonly mode: WriteMode },
): Promise<number> {
  signal?.throwIfAborted();
  const head = { type: 'file.write', path, mode };
  try {
    const { result } = await upload(connection, head, pieces, { schema: sizeReply, signal });
    return result.sizeBytes;
  } catch (error) {
    throw error instanceof GuestRefusal ? fileError(error, path) : error;
  }
}

export async function listFolder(
  connection: GuestConnection,
  path: string,
  { recursive, limit }: { recursive: boolean; limit: number },
  { signal }: FileOptions = {},
): Promise<{ entries: FileEntry[]; omitted: number }> {
  signal?.throwIfAborted();
  try {
    const reply = connection.request({ type: 'file.list', path, recursive, limit }, listReply);
    const { result, body } = await unlessAborted(reply, signal);
    return { entries: fileList.parse(parseUtf8Json(body, LIST_LIMITS)), omitted: result.omitted };
  } catch (error) {
    signal?.throwIfAborted();
    throw fileError(error, path);
  }
}

/** Removes a file or folder. After an abort the guest may still remove it. */
export async function removePath(
  connection: GuestConnection,
  path: string,
  recursive: boolean,
  { signal }: FileOptions = {},
): Promise<void> {
  signal?.throwIfAborted();
  try {
    await unlessAborted(connection.request({ type: 'file.remove', path, recursive }, nothing), signal);
  } catch (error) {
    signal?.throwIfAborted();
    throw fileError(error, path);
  }
}

// SECURITY: a Map, because the guest chooses the key, which may be `__proto__` or `constructor`.
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
  /** Message of the host. Without it, the guest's message is quoted. */
  readonly message?: string;
  readonly remedy?: string;
}

function fileError(error: unknown, path: string): unknown {
  if (error instanceof HotcellError) return error;
  if (!(error instanceof GuestRefusal)) {
    return new HotcellError('guest_misbehaved', 'the guest sent an invalid reply to a file request', {
      cause: error,
    });
  }
  const { code, message, remedy }: Refused = REFUSALS.get(error.code) ?? { code: 'guest_misbehaved' };
  const said = message ?? saidInside(error.message);
  return new HotcellError(code, `${quotedName(path)}: ${said}`, remedy === undefined ? {} : { remedy });
}
