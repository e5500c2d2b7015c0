const BLOCK_BYTES = 4096;

/**
 * The space that an entry of a folder takes on a disk. SECURITY: sizes alone are no bound: a file without content has an inode and a name, and one byte takes a block.
 */
export function occupiedBytes(size: number): number {
  return Math.max(1, Math.ceil(size / BLOCK_BYTES)) * BLOCK_BYTES;
}
