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
  /** The bytes of the block from `begun` to `filled` are not among the pieces yet. */
  let begun = 0;
  let filled = 0;
  let length = 0;

  function endPiece(): void {
    if (filled > begun) pieces.push(block.subarray(begun, filled));
    begun = filled;
  }

  function newBlock(least: number): void {
    endPiece();
    block = Buffer.allocUnsafeSlow(Math.min(MAX_BLOCK_BYTES, Math.max(MIN_BLOCK_BYTES, 2 * block.length, least)));
    begun = filled = 0;
  }

  return {
    push(piece) {
      if (piece.length === 0) return;
      length += piece.length;
      if (piece.length >= SMALL_BYTES) {
        // The next small piece continues in the same block: a block for each would be held for a single byte.
        endPiece();
        pieces.push(ownBytes(piece));
        return;
      }
      if (filled + piece.length > block.length) newBlock(piece.length);
      piece.copy(block, filled);
      filled += piece.length;
    },
    length: () => length,
    take() {
      endPiece();
      const taken = pieces;
      pieces = [];
      block = EMPTY;
      begun = filled = length = 0;
      return taken;
    },
  };
}
