import type { Head } from '../lib/frames.ts';
import type { GuestConnection } from './connection.ts';
import type { Reply } from './pending-requests.ts';

/** Bytes for the guest, in pieces of any size. */
export type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

const PIECE_BYTES = 65_536;

/**
 * Makes a request and sends its bytes on a stream, waiting for the guest to take them: never more than a window of them is under way. Rejects with
 * what the guest refused, or with what the pieces threw; nothing of it is kept then.
 */
export async function upload(
  connection: GuestConnection,
  head: Head,
  pieces: Pieces,
  options: { onId?: (id: number) => void; signal?: AbortSignal | undefined } = {},
): Promise<Reply> {
  const { onId, signal } = options;
  const stream = connection.openStream(() => {});
  const reply = connection.request({ ...head, stream: stream.id }, onId === undefined ? {} : { onId });
  let refused = false;
  reply.catch(() => {
    refused = true;
    stream.release();
  });
  const stop = () => stream.release();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for await (const piece of pieces) {
      for (let start = 0; start < piece.length && !refused; start += PIECE_BYTES) {
        signal?.throwIfAborted();
        await stream.send({ type: 'chunk', end: false }, Buffer.from(piece.subarray(start, start + PIECE_BYTES)));
      }
      if (refused) break;
    }
    signal?.throwIfAborted();
    if (!refused) await stream.send({ type: 'chunk', end: true }, Buffer.alloc(0));
    return await reply;
  } catch (error) {
    if (refused)
      await reply; // its own error says more than that of the stream
    else withdraw(connection, stream.id);
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    stream.release();
  }
}

/** Lets the guest close what it has open for a transfer that nobody waits for any more. */
export function withdraw(connection: GuestConnection, stream: number): void {
  connection.request({ type: 'file.cancel', stream }).catch(() => {});
}
