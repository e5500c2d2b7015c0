import type * as z from 'zod';
import { HotcellError } from '../errors/hotcell-error.ts';
import { aborted } from '../lib/abort.ts';
import type { Head } from '../lib/frames.ts';
import type { GuestConnection } from './connection.ts';
import { nothing } from './messages.ts';
import { createPatience } from './patience.ts';
import type { Reply } from './pending-requests.ts';

/** Bytes for the guest, in pieces of any size. */
export type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

const PIECE_BYTES = 65_536;

export interface UploadOptions<Result> {
  readonly schema: z.ZodType<Result>;
  readonly onId?: ((id: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long the guest may take none of it, and not answer. */
  readonly limitMs?: number | undefined;
}

/**
 * Makes a request and sends its bytes on a stream, waiting for the guest to take them: never more than a window of them is under way. Rejects with
 * what the guest refused, or with what the pieces threw; nothing of it is kept then.
 */
export async function upload<Result>(
  connection: GuestConnection,
  head: Head,
  pieces: Pieces,
  { schema, onId, signal, limitMs }: UploadOptions<Result>,
): Promise<Reply<Result>> {
  let isSourceSlow = false;
  let isAllSent = false;
  const patience = createPatience({ limitMs, isOurTurn: () => isSourceSlow });
  const stream = connection.openStream(() => {});
  const reply = connection.request({ ...head, stream: stream.id }, schema, { onId, patience });
  let refused = false;
  reply.catch(() => {
    refused = true;
    stream.release();
  });
  const source = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
  // A source that has stalled must not keep us from hearing that there is no need of it any more.
  const answeredEarly = reply.then(() =>
    isAllSent ? new Promise<never>(() => {}) : endForEarlyReply(connection, head),
  );
  const next = interruptible(source, Promise.race([answeredEarly, aborted(signal)]));
  const nextPiece = async () => {
    isSourceSlow = true;
    const step = await next.piece();
    isSourceSlow = false;
    return step;
  };
  next.ended.catch(() => stream.release());
  try {
    for (let step = await nextPiece(); step.done !== true; step = await nextPiece()) {
      const piece = step.value;
      for (let start = 0; start < piece.length; start += PIECE_BYTES) {
        signal?.throwIfAborted();
        await stream.send({ type: 'chunk', end: false }, asBuffer(piece.subarray(start, start + PIECE_BYTES)));
        patience.progress();
      }
    }
    await stream.send({ type: 'chunk', end: true }, Buffer.alloc(0));
    isAllSent = true;
    return await reply;
  } catch (error) {
    Promise.resolve(source.return?.()).catch(() => {});
    if (refused)
      await reply; // its own error says more than that of the stream
    else withdraw(connection, stream.id);
    signal?.throwIfAborted();
    throw error;
  } finally {
    stream.release();
  }
}

/** SECURITY: a guest that says that it has all of a file would else keep whoever sends the rest, as long as the source likes. */
function endForEarlyReply(connection: GuestConnection, { type }: Head): never {
  const error = new HotcellError('guest_misbehaved', `the guest replied before the upload was complete (${type})`);
  connection.close(error);
  throw error;
}

/**
 * The next piece, or a rejection as soon as `ended` rejects. Not by a race with `ended` for each piece: a promise that lives as long as the file keeps what it was
 * raced against, which is the file.
 */
function interruptible(source: Iterator<Uint8Array> | AsyncIterator<Uint8Array>, ended: Promise<never>) {
  let isEnded = false;
  let reject = (_reason: unknown) => {};
  ended.catch((reason: unknown) => {
    isEnded = true;
    reject(reason);
  });
  return {
    ended,
    piece: () =>
      isEnded
        ? ended
        : new Promise<IteratorResult<Uint8Array>>((resolve, refuse) => {
            reject = refuse;
            Promise.resolve(source.next()).then(resolve, refuse);
          }),
  };
}

/** The same bytes: a copy of each piece would be garbage as large as the file. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Lets the guest close what it has open for a transfer that nobody waits for any more. */
export function withdraw(connection: GuestConnection, stream: number): void {
  connection.request({ type: 'file.cancel', stream }, nothing).catch(() => {});
}
