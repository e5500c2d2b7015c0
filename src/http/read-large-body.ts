import type { IncomingMessage } from 'node:http';
import { HotcellError } from '../errors/hotcell-error.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import { bodyPieces, readBeginning, requireBodySize } from './read-body.ts';

const SMALL_BYTES = 65_536;
const LARGE_AT_ONCE_BYTES = 32 * 1_048_576;
/** With one place alone, no owner could have a share. */
const LEAST_PLACES = 2;
const BODY_MS = 30_000;

/** What a sender that holds a place must keep up. */
const LARGE_PACE = { stallMs: 2_000, leastBytesPerS: 16_384, timeMs: BODY_MS };

/** Of most requests. */
export const BODY_BYTES = 4 * 1_048_576;

/** Reads a request's body whole, on behalf of an owner. */
export type BodyReader = (incoming: IncomingMessage, owner: string) => Promise<Buffer>;

/**
 * SECURITY: a hundred clients with the largest body each must not take the server's memory. So what is beyond 64 kB of a body is read a few at a time. A place is
 * taken only when more than that has come: a small body needs none, whatever it says of its length. An owner has a share of the places, and a sender that holds
 * one must be quick; otherwise one tenant's bodies that never end would keep all others waiting.
 */
export function createBodyReader(bodyBytes: number = BODY_BYTES): BodyReader {
  const places = createFairQueue(Math.max(LEAST_PLACES, Math.floor(LARGE_AT_ONCE_BYTES / bodyBytes)));
  return async (incoming, owner) => {
    requireBodySize(Number(incoming.headers['content-length'] ?? 0), bodyBytes);
    const { pieces, isWhole } = await readBeginning(incoming, { bytes: SMALL_BYTES, timeMs: BODY_MS });
    const body = Buffer.concat(pieces);
    requireBodySize(body.length, bodyBytes);
    if (isWhole) return body;
    const release = await places.take(owner, { signal: leavingOf(incoming) });
    try {
      return await readRest(incoming, body, bodyBytes);
    } finally {
      release();
    }
  };
}

async function readRest(incoming: IncomingMessage, beginning: Buffer, bodyBytes: number): Promise<Buffer> {
  const pieces = [beginning];
  let size = beginning.length;
  for await (const piece of bodyPieces(incoming, LARGE_PACE)) {
    pieces.push(piece);
    size += piece.length;
    requireBodySize(size, bodyBytes);
  }
  return Buffer.concat(pieces);
}

/** Aborted when the sender leaves: one that has gone waits for no place. */
function leavingOf(incoming: IncomingMessage): AbortSignal {
  const left = new AbortController();
  const leave = () =>
    left.abort(new HotcellError('cancelled', 'the client disconnected before the request was complete'));
  incoming.once('close', leave);
  if (incoming.destroyed) leave();
  return left.signal;
}
