import { type Deferred, deferred } from '../lib/deferred.ts';
import { createGatheredBytes } from '../lib/gathered-bytes.ts';

/** The input of one call: frames in, an iterable out. */
export interface CallInput extends AsyncIterable<Buffer> {
  /** Adds bytes. Resolves when they are read, or never will be; all bytes that are read together share one promise. */
  push(bytes: Buffer): Promise<void> | undefined;
  end(): void;
  /** Ends the call: a reader rejects, and unread bytes are dropped. */
  fail(error: Error): void;
}

/**
 * `onRead` is called with the number of bytes that are not held any more, because they were read or dropped. SECURITY: a
 * program chooses the size of its pieces, so the memory is bounded by their bytes, and not by their number.
 */
export function createCallInput(onRead: (bytes: number) => void): CallInput {
  const gathered = createGatheredBytes();
  /** Resolved when all that is gathered has been read. */
  let unread: Deferred<void> | undefined;
  /** Pieces that are being read, and the promise of their senders. */
  let pieces: Buffer[] = [];
  let reading: Deferred<void> | undefined;
  let isOver = false;
  let failure: Error | undefined;
  let arrival: Deferred<void> | undefined;

  function wake(): void {
    arrival?.resolve();
    arrival = undefined;
  }

  function nextPiece(): Buffer | undefined {
    if (pieces.length === 0) {
      pieces = gathered.take();
      reading = unread;
      unread = undefined;
    }
    const piece = pieces.shift();
    if (piece !== undefined) onRead(piece.length);
    if (pieces.length === 0) reading?.resolve();
    return piece;
  }

  async function* read(): AsyncGenerator<Buffer> {
    for (;;) {
      if (failure !== undefined) throw failure;
      const piece = nextPiece();
      if (piece !== undefined) yield piece;
      else if (isOver) return;
      else {
        arrival ??= deferred<void>();
        await arrival.promise;
      }
    }
  }

  return {
    push(bytes) {
      if (bytes.length === 0) return undefined;
      unread ??= deferred<void>();
      gathered.push(bytes);
      wake();
      return unread.promise;
    },
    end() {
      isOver = true;
      wake();
    },
    fail(error) {
      failure ??= error;
      while (nextPiece() !== undefined);
      wake();
    },
    [Symbol.asyncIterator]: read,
  };
}
