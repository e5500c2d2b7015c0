import type { IncomingMessage } from 'node:http';
import { HotcellError } from '../errors/hotcell-error.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import { bodyPieces, readBeginning, requireBodySize } from './read-body.ts';

const SMALL_BYTES = 65_536;
const BODY_MS = 30_000;

/** The usual maximum size of a body. */
export const BODY_BYTES = 4 * 1_048_576;

/**
 * The memory for all bodies that are being read is twice the maximum size plus this, so that large bodies leave room
 * for others.
 */
const BESIDE_LARGEST_BYTES = 32 * 1_048_576;
const LARGEST_AT_ONCE = 2;

/** The minimum rate of a large body, and the window in which it is measured. */
const LARGE_PACE = { stallMs: 2_000, leastBytesPerS: 16_384, timeMs: BODY_MS };
/** The factor by which a sender may be slower than its average for a while. */
const SLOWER = 2;

/** Reads a whole body on behalf of an owner, and passes it to `use`. The memory is reserved until `use` has ended. */
export type BodyReader = <Result>(
  incoming: IncomingMessage,
  owner: string,
  use: (body: Buffer) => Result | Promise<Result>,
) => Promise<Result>;

/**
 * SECURITY: a hundred clients with the largest body each must not use up the server's memory. So the part of a body
 * beyond 64 kB is read only when there is room for its whole declared length, and the room is shared by owner. A small
 * body needs none, whatever length it declares. Reserved room blocks others, so a sender must be as fast as its
 * declared length requires. A body without a declared length reserves the usual limit, and may not exceed it.
 */
export function createBodyReader(bodyBytes: number = BODY_BYTES): BodyReader {
  const room = createFairQueue(LARGEST_AT_ONCE * bodyBytes + BESIDE_LARGEST_BYTES);
  return async (incoming, owner, use) => {
    const declared = declaredBytes(incoming);
    const limitBytes = declared ?? Math.min(bodyBytes, BODY_BYTES);
    requireBodySize(limitBytes, bodyBytes);
    const { pieces, isWhole } = await readBeginning(incoming, { bytes: SMALL_BYTES, timeMs: BODY_MS });
    const body = Buffer.concat(pieces);
    requireBodySize(body.length, limitBytes);
    if (isWhole) return use(body);
    const release = await room.take(owner, { count: limitBytes, signal: leavingOf(incoming) });
    try {
      return await use(await readRest(incoming, body, { limitBytes, leastBytesPerS: leastSpeed(declared) }));
    } finally {
      release();
    }
  };
}

function declaredBytes({ headers }: IncomingMessage): number | undefined {
  return headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
}

/** The minimum rate for a declared length, in bytes per second. */
function leastSpeed(declared = 0): number {
  return Math.max(LARGE_PACE.leastBytesPerS, declared / (BODY_MS / 1000) / SLOWER);
}

/** SECURITY: each piece is copied as it comes: to join the pieces of 80 MB at the end takes 50 ms in which nobody else is served. The system provides the memory as it is written to. */
async function readRest(
  incoming: IncomingMessage,
  beginning: Buffer,
  { limitBytes, leastBytesPerS }: { limitBytes: number; leastBytesPerS: number },
): Promise<Buffer> {
  const body = Buffer.allocUnsafeSlow(limitBytes);
  let size = beginning.copy(body);
  for await (const piece of bodyPieces(incoming, { ...LARGE_PACE, leastBytesPerS })) {
    requireBodySize(size + piece.length, limitBytes);
    size += piece.copy(body, size);
  }
  return body.subarray(0, size);
}

/** A signal that aborts when the client disconnects, so that it does not wait for a place any more. */
function leavingOf(incoming: IncomingMessage): AbortSignal {
  const left = new AbortController();
  const leave = () =>
    left.abort(new HotcellError('cancelled', 'the client disconnected before the request was complete'));
  incoming.once('close', leave);
  if (incoming.destroyed) leave();
  return left.signal;
}
