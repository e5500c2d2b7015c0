import type { IncomingMessage } from 'node:http';
import { HotcellError } from '../errors/hotcell-error.ts';
import { createGatheredBytes } from '../lib/gathered-bytes.ts';
import { incomingPieces } from './incoming-pieces.ts';

/** The first part of a body, or all of it. */
export interface Beginning {
  readonly pieces: readonly Buffer[];
  readonly isWhole: boolean;
}

/** Reads a body until more than `bytes` of it have come. SECURITY: a sender that takes longer than `timeMs` is not waited for. */
export async function readBeginning(
  incoming: IncomingMessage,
  { bytes, timeMs }: { bytes: number; timeMs: number },
): Promise<Beginning> {
  const source = incomingPieces(incoming);
  const gathered = createGatheredBytes();
  const late = setTimeout(() => source.giveUp(tooSlow('the request did not come in time')), timeMs);
  try {
    for await (const piece of source) {
      gathered.push(piece);
      if (gathered.length() > bytes) return { pieces: gathered.take(), isWhole: false };
    }
  } finally {
    clearTimeout(late);
  }
  if (!incoming.complete) throw senderLeft();
  return { pieces: gathered.take(), isWhole: true };
}

/** The minimum speed of a body: a slower sender is not waited for. A telephone line brought as much. */
export const LEAST_BYTES_PER_S = 1024;

export interface Pace {
  /** How long nothing may come, and the window in which the speed is measured. */
  readonly stallMs: number;
  readonly leastBytesPerS?: number;
  /** For all of it, as far as the sender is waited for. */
  readonly timeMs?: number;
}

/**
 * A large body in pieces, as fast as they are taken. Rejects where the sender stalls: nothing for `stallMs`, or too little in `stallMs` of waiting.
 *
 * SECURITY: a byte now and then would hold a connection, a place in the sandbox and a session that is never idle, for ever. What was sent fast before
 * buys no time. Only waiting counts: whoever takes the pieces may take their time.
 */
export async function* bodyPieces(incoming: IncomingMessage, pace: Pace): AsyncGenerator<Buffer> {
  const { stallMs, leastBytesPerS = LEAST_BYTES_PER_S, timeMs = Number.POSITIVE_INFINITY } = pace;
  const source = incomingPieces(incoming);
  const leastBytes = (leastBytesPerS * stallMs) / 1000;
  let bytes = 0;
  let waitedMs = 0;
  let waitedInAllMs = 0;
  let lookedAt = performance.now();

  function look(): void {
    const sinceMs = performance.now() - lookedAt;
    lookedAt += sinceMs;
    if (sinceMs > stallMs / 2) return; // this process stood still: what the sender sent meanwhile is not read yet
    const since = source.waitingSince();
    const standsMs = since === undefined ? 0 : performance.now() - since;
    if (standsMs >= stallMs) source.giveUp(tooSlow(`nothing came for ${stallMs / 1000} s`));
    else if (waitedMs + standsMs >= stallMs && bytes < leastBytes) {
      source.giveUp(tooSlow(`${bytes} bytes came in ${stallMs / 1000} s, and ${leastBytes} are the least`));
    } else if (waitedInAllMs + standsMs >= timeMs) source.giveUp(tooSlow('the request did not come in time'));
  }

  const timer = setInterval(look, stallMs / 4);
  let begin = performance.now();
  try {
    for await (const piece of source) {
      const tookMs = performance.now() - begin;
      waitedMs += tookMs;
      waitedInAllMs += tookMs;
      bytes += piece.length;
      if (waitedMs >= stallMs && bytes >= leastBytes) [waitedMs, bytes] = [0, 0];
      yield piece;
      begin = performance.now();
    }
  } finally {
    clearInterval(timer);
  }
  if (!incoming.complete) throw senderLeft();
}

/** SECURITY: a body is counted while it comes, whatever it says of its length. */
export function requireBodySize(sizeBytes: number, limitBytes: number): void {
  if (sizeBytes > limitBytes) throw tooLarge(limitBytes);
}

function senderLeft(): HotcellError {
  return new HotcellError('cancelled', 'the client disconnected before the request was complete');
}

function tooLarge(limitBytes: number): HotcellError {
  return new HotcellError('request_too_large', `the request is larger than the limit of ${limitBytes} bytes`, {
    remedy: 'Declare a Content-Length, and send large files with PUT /files/{session}/{path}.',
    data: { limitBytes },
  });
}

function tooSlow(message: string): HotcellError {
  return new HotcellError('too_slow', message, { remedy: 'Retry over a faster connection, or send it in parts.' });
}
