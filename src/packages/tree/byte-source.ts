import { unlessAborted } from '../../lib/abort.ts';

/** Bytes that arrive in pieces, read in parts of known length. */
export interface ByteSource {
  /** The next `length` bytes, in one buffer. Rejects with `EndedEarly` if there are fewer. */
  take(length: number): Promise<Buffer>;
  /** The next `length` bytes, in the pieces in which they come. */
  stream(length: number): AsyncGenerator<Buffer>;
  /** Whether nothing is left. */
  isOver(): Promise<boolean>;
  /** Leaves the rest unread. */
  release(): void;
}

export class EndedEarly extends Error {
  constructor() {
    super('it ended before it was complete');
  }
}

const EMPTY = Buffer.alloc(0);

/** SECURITY: the signal ends each wait for a piece, because a sandbox decides when the next one comes. */
export function createByteSource(pieces: AsyncIterable<Buffer>, signal?: AbortSignal): ByteSource {
  const source = pieces[Symbol.asyncIterator]();
  let current: Buffer = EMPTY;

  /** Makes `current` non-empty, unless nothing is left. */
  async function fill(): Promise<boolean> {
    while (current.length === 0) {
      signal?.throwIfAborted();
      const step = await unlessAborted(source.next(), signal);
      if (step.done === true) return false;
      current = step.value;
    }
    return true;
  }

  async function* stream(length: number): AsyncGenerator<Buffer> {
    let left = length;
    while (left > 0) {
      if (!(await fill())) throw new EndedEarly();
      const part = current.subarray(0, left);
      current = current.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }

  return {
    take: async (length) => {
      if (current.length >= length) {
        const part = current.subarray(0, length);
        current = current.subarray(length);
        return part;
      }
      const parts: Buffer[] = [];
      for await (const part of stream(length)) parts.push(part);
      return Buffer.concat(parts);
    },
    stream,
    isOver: async () => !(await fill()),
    release: () => void source.return?.().catch(() => {}),
  };
}
