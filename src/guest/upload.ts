import type * as z from 'zod';
import { HotcellError } from '../errors/hotcell-error.ts';
import { unlessAborted } from '../lib/abort.ts';
import type { Head } from '../lib/frames.ts';
import type { GuestConnection } from './connection.ts';
import { nothing } from './messages.ts';
import { createPatience } from './patience.ts';
import type { Reply } from './pending-requests.ts';

/** Content for the guest, in pieces of any size. */
export type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

const PIECE_BYTES = 65_536;

export interface UploadOptions<Result> {
  readonly schema: z.ZodType<Result>;
  readonly onId?: ((id: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Inactivity timeout: how long the guest may neither take a piece nor answer. */
  readonly limitMs?: number | undefined;
}

/**
 * Makes a request and sends its content on a stream, with backpressure: at most one window is under way. Rejects with
 * the guest's refusal or the source's error; the guest then keeps nothing of the content.
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
  // Do not wait for a stalled source once the request has failed or been aborted.
  const answered = reply.then(() => {
    if (!isAllSent) endForEarlyReply(connection, head);
  });
  const next = interruptible(source, unlessAborted(answered, signal));
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
        const part = asBuffer(piece.subarray(start, start + PIECE_BYTES));
        await stream.send({ type: 'chunk', end: false }, part);
        patience.progress(part.length);
      }
    }
    await stream.send({ type: 'chunk', end: true }, Buffer.alloc(0));
    isAllSent = true;
    return await reply;
  } catch (error) {
    Promise.resolve(source.return?.()).catch(() => {});
    if (refused)
      await reply; // the refusal says more than the stream's error
    else withdraw(connection, stream.id);
    signal?.throwIfAborted();
    throw error;
  } finally {
    stream.release();
  }
}

/**
 * SECURITY: a guest that replies before it has the whole file would otherwise keep the sender waiting for as long as
 * the source likes.
 */
function endForEarlyReply(connection: GuestConnection, { type }: Head): never {
  const error = new HotcellError('guest_misbehaved', `the guest replied before the upload was complete (${type})`);
  connection.close(error);
  throw error;
}

/**
 * Returns the next piece, or rejects as soon as `ended` rejects. It does not race each piece with `ended`: a promise
 * that lives as long as the upload would retain every promise it was raced with, and with them the whole file.
 */
function interruptible(source: Iterator<Uint8Array> | AsyncIterator<Uint8Array>, ended: Promise<void>) {
  let failure: { readonly reason: unknown } | undefined;
  let reject = (_reason: unknown) => {};
  ended.catch((reason: unknown) => {
    failure = { reason };
    reject(reason);
  });
  return {
    ended,
    piece: () =>
      failure !== undefined
        ? Promise.reject(failure.reason)
        : new Promise<IteratorResult<Uint8Array>>((resolve, refuse) => {
            reject = refuse;
            Promise.resolve(source.next()).then(resolve, refuse);
          }),
  };
}

/** A view of the same bytes. Copies would be garbage as large as the file. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Asks the guest to release its resources for an abandoned transfer. */
export function withdraw(connection: GuestConnection, stream: number): void {
  connection.request({ type: 'file.cancel', stream }, nothing).catch(() => {});
}
