import { ownMemory } from '../lib/frames.ts';

/** Memory for frames of one connection, used again when the guest has acknowledged them. */
export interface FrameMemory {
  /** Memory of at least so many bytes. */
  take(sizeBytes: number): Buffer;
  /** For a frame that is not sent any more. */
  giveBack(encoded: Buffer): void;
}

/** Frames of a stream of bytes: a piece of 64 KiB, a header and a short head. */
const BLOCK_BYTES = 65_536 + 512;
/** Smaller frames get memory of their own size, so that waiting ones take at most twice their bytes. */
const LEAST_BYTES = BLOCK_BYTES / 2;
/** As many as a window of two streams. */
const SPARE_BLOCKS = 8;

/**
 * The frames of a download would be a gigabyte of garbage outside of V8's heap each few seconds, and V8 collects its whole heap for
 * every 30 MB of that.
 *
 * SECURITY: one for each connection. A guest may acknowledge a frame that still waits to be written, and then gets bytes of a later
 * frame in its place; all of them are its own.
 */
export function createFrameMemory(): FrameMemory {
  const spare: Buffer[] = [];
  return {
    take: (sizeBytes) =>
      sizeBytes < LEAST_BYTES || sizeBytes > BLOCK_BYTES
        ? ownMemory(sizeBytes)
        : (spare.pop() ?? ownMemory(BLOCK_BYTES)),
    giveBack: ({ buffer }) => {
      if (buffer.byteLength === BLOCK_BYTES && spare.length < SPARE_BLOCKS) spare.push(Buffer.from(buffer));
    },
  };
}
