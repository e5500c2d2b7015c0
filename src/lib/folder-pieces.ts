import { type Dirent, opendirSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The entries that are worked on in one turn of the event loop: half a millisecond. */
const PIECE = 16;

/**
 * The entries of a folder, in no order, a few in each turn of the event loop. SECURITY: a tenant decides how many
 * entries a tree of packages has, and how many trees are worked on at once; other tenants share the event loop. The
 * threads that serve files are shared, too, so callers work on a piece without them.
 */
export async function* folderPieces(folder: string): AsyncGenerator<readonly Dirent[]> {
  const reading = opendirSync(folder, { bufferSize: PIECE });
  try {
    for (;;) {
      await nextTurn();
      const piece: Dirent[] = [];
      while (piece.length < PIECE) {
        const entry = reading.readSync();
        if (entry === null) break;
        piece.push(entry);
      }
      if (piece.length > 0) yield piece;
      if (piece.length < PIECE) return;
    }
  } finally {
    reading.closeSync();
  }
}

/** Gives way to others in a long list, after as many entries as above. */
export async function* inPieces<T>(all: readonly T[]): AsyncGenerator<readonly T[]> {
  for (let begin = 0; begin < all.length; begin += PIECE) {
    await nextTurn();
    yield all.slice(begin, begin + PIECE);
  }
}
