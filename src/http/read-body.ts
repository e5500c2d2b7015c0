import type { IncomingMessage } from 'node:http';
import { HotcellError } from '../errors/hotcell-error.ts';

export interface BodyLimits {
  readonly bytes: number;
  /** For all of it. */
  readonly timeMs: number;
}

/** A small body, whole. SECURITY: counted while it comes, whatever it says of its length, and not waited for for ever. */
export async function readBody(incoming: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > limits.bytes) throw tooLarge(limits.bytes);
  const pieces: Buffer[] = [];
  let size = 0;
  const late = setTimeout(() => incoming.destroy(tooSlow()), limits.timeMs);
  try {
    for await (const piece of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > limits.bytes) throw tooLarge(limits.bytes);
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  } finally {
    clearTimeout(late);
  }
}

/**
 * A large body in pieces, as fast as they are taken. Rejects where the sender stalls: nothing for `stallMs` although somebody waits for it.
 */
export async function* bodyPieces(incoming: IncomingMessage, options: { stallMs: number }): AsyncGenerator<Buffer> {
  // Running only while the sender is waited for: whoever takes the pieces may take their time.
  const late = setTimeout(() => incoming.destroy(tooSlow()), options.stallMs);
  let waiting = true;
  const stall = setInterval(() => waiting || late.refresh(), options.stallMs / 4);
  try {
    for await (const piece of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      waiting = false;
      yield piece;
      waiting = true;
      late.refresh();
    }
  } finally {
    clearTimeout(late);
    clearInterval(stall);
  }
  if (!incoming.complete) throw new HotcellError('cancelled', 'the sender left before all had come');
}

function tooLarge(limitBytes: number): HotcellError {
  return new HotcellError('request_too_large', `the request is larger than ${limitBytes} bytes, which is the limit`, {
    remedy: 'Send large files with PUT /files/{session}/{path}.',
    data: { limitBytes },
  });
}

function tooSlow(): HotcellError {
  return new HotcellError('too_slow', 'the request did not come in time');
}
