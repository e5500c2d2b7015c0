import { type Deferred, deferred } from '../lib/deferred.ts';
import { ownBytes } from '../lib/own-bytes.ts';

/** The input of one call: frames in, an iterable out. */
export interface CallInput extends AsyncIterable<Buffer> {
  /** Adds bytes. Resolves when they are read, or never will be. */
  push(bytes: Buffer): Promise<void> | undefined;
  end(): void;
  /** Ends the call: a reader rejects, and bytes that nobody reads are dropped. */
  fail(error: Error): void;
}

/** `onRead` is called with the size of each piece that is not held any more, because it was read or dropped. */
export function createCallInput(onRead: (bytes: number) => void): CallInput {
  const pieces: { readonly bytes: Buffer; readonly read: () => void }[] = [];
  let isOver = false;
  let failure: Error | undefined;
  let arrival: Deferred<void> | undefined;

  function wake(): void {
    arrival?.resolve();
    arrival = undefined;
  }

  async function* read(): AsyncGenerator<Buffer> {
    for (;;) {
      if (failure !== undefined) throw failure;
      const piece = pieces.shift();
      if (piece !== undefined) {
        piece.read();
        yield piece.bytes;
      } else if (isOver) return;
      else {
        arrival ??= deferred<void>();
        await arrival.promise;
      }
    }
  }

  return {
    push(bytes) {
      if (bytes.length === 0) return undefined;
      const { promise, resolve } = deferred<void>();
      const read = () => {
        onRead(bytes.length);
        resolve();
      };
      pieces.push({ bytes: ownBytes(bytes), read });
      wake();
      return promise;
    },
    end() {
      isOver = true;
      wake();
    },
    fail(error) {
      failure ??= error;
      for (const piece of pieces.splice(0)) piece.read();
      wake();
    },
    [Symbol.asyncIterator]: read,
  };
}
