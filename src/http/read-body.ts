import type { IncomingMessage } from 'node:http';
import { HotcellError } from '../errors/hotcell-error.ts';
import { incomingPieces } from './incoming-pieces.ts';

export interface BodyLimits {
  readonly bytes: number;
  /** For all of it. */
  readonly timeMs: number;
}

/** A small body, whole. SECURITY: counted while it comes, whatever it says of its length, and not waited for for ever. */
export async function readBody(incoming: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > limits.bytes) throw tooLarge(limits.bytes);
  const source = incomingPieces(incoming);
  const pieces: Buffer[] = [];
  let size = 0;
  const late = setTimeout(() => source.giveUp(tooSlow('the request did not come in time')), limits.timeMs);
  try {
    for await (const piece of source) {
      size += piece.length;
      if (size > limits.bytes) throw tooLarge(limits.bytes);
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  } finally {
    clearTimeout(late);
  }
}

/** What must come while the sender is waited for, or it is let go. A telephone line brought as much. */
export const LEAST_BYTES_PER_S = 1024;

/**
 * A large body in pieces, as fast as they are taken. Rejects where the sender stalls: nothing for `stallMs`, or too little in `stallMs` of waiting.
 *
 * SECURITY: a byte now and then would hold a connection, a place in the sandbox and a session that is never idle, for ever. What was sent fast before
 * buys no time. Only waiting counts: whoever takes the pieces may take their time.
 */
export async function* bodyPieces(incoming: IncomingMessage, { stallMs }: { stallMs: number }): AsyncGenerator<Buffer> {
  const source = incomingPieces(incoming);
  const leastBytes = (LEAST_BYTES_PER_S * stallMs) / 1000;
  let bytes = 0;
  let waitedMs = 0;

  function look(): void {
    const since = source.waitingSince();
    const standsMs = since === undefined ? 0 : performance.now() - since;
    if (standsMs >= stallMs) source.giveUp(tooSlow(`nothing came for ${stallMs / 1000} s`));
    else if (waitedMs + standsMs >= stallMs && bytes < leastBytes) {
      source.giveUp(tooSlow(`${bytes} bytes came in ${stallMs / 1000} s, and ${leastBytes} are the least`));
    }
  }

  const timer = setInterval(look, stallMs / 4);
  let begin = performance.now();
  try {
    for await (const piece of source) {
      waitedMs += performance.now() - begin;
      bytes += piece.length;
      if (waitedMs >= stallMs && bytes >= leastBytes) [waitedMs, bytes] = [0, 0];
      yield piece;
      begin = performance.now();
    }
  } finally {
    clearInterval(timer);
  }
  if (!incoming.complete) throw new HotcellError('cancelled', 'the sender left before all had come');
}

function tooLarge(limitBytes: number): HotcellError {
  return new HotcellError('request_too_large', `the request is larger than ${limitBytes} bytes, which is the limit`, {
    remedy: 'Send large files with PUT /files/{session}/{path}.',
    data: { limitBytes },
  });
}

function tooSlow(message: string): HotcellError {
  return new HotcellError('too_slow', message, { remedy: 'Send it again over a faster connection, or in parts.' });
}
