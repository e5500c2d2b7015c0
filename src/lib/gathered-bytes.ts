import { ownBytes } from './own-bytes.ts';

/** A buffer for pieces of bytes, whose memory is bounded by the number of bytes and not by the number of pieces. */
export interface GatheredBytes {
  push(piece: Buffer): void;
  /** The number of bytes held. */
  length(): number;
  /** Returns all bytes and empties the buffer. Many small pieces are returned as few large ones. */
  take(): Buffer[];
}

/** Smaller pieces are copied into a block: a Buffer object costs hundreds of bytes, however small its content. */
const SMALL_BYTES = 4096;
const MIN_BLOCK_BYTES = 512;
const MAX_BLOCK_BYTES = 65_536;
const EMPTY = Buffer.alloc(0);

/**
 * SECURITY: a guest that sends a file byte by byte, or in frames with long heads, would otherwise make the server use
 * about a hundred times the size of the file.
 */
export function createGatheredBytes(): GatheredBytes {
  let pieces: Buffer[] = [];
  let block = EMPTY;
  let filled = 0;
  let length = 0;

  function endBlock(): void {
    if (filled > 0) pieces.push(block.subarray(0, filled));
    filled = 0;
  }

  return {
    push(piece) {
      if (piece.length === 0) return;
      length += piece.length;
      if (piece.length >= SMALL_BYTES || filled + piece.length > block.length) endBlock();
      if (piece.length >= SMALL_BYTES) {
        pieces.push(ownBytes(piece));
        return;
      }
      if (filled === 0) {
        const next = Math.min(MAX_BLOCK_BYTES, Math.max(MIN_BLOCK_BYTES, 2 * block.length, piece.length));
        block = Buffer.allocUnsafeSlow(next);
      }
      piece.copy(block, filled);
      filled += piece.length;
    },
    length: () => length,
    take() {
      endBlock();
      const taken = pieces;
      pieces = [];
      block = EMPTY;
      length = 0;
      return taken;
    },
  };
}
