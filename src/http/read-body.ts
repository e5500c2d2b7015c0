import type { IncomingMessage } from 'node:http';
import { HotcellError } from '../errors/hotcell-error.ts';
import { createGatheredBytes } from '../lib/gathered-bytes.ts';
import { incomingPieces } from './incoming-pieces.ts';

/** The first part of a body, or all of it. */
export interface Beginning {
  readonly pieces: readonly Buffer[];
  readonly isWhole: boolean;
}

/** Reads a body until more than `bytes` of it have arrived. SECURITY: times out after `timeMs`. */
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

/** The minimum rate of an upload; slower senders are rejected. */
export const LEAST_BYTES_PER_S = 1024;

export interface Pace {
  /** The timeout without any data, and the window in which the rate is measured. */
  readonly stallMs: number;
  readonly leastBytesPerS?: number;
  /** The total time that the server waits for the sender. */
  readonly timeMs?: number;
}

/**
 * Streams a large body with backpressure. Rejects if the sender stalls: no data for `stallMs`, or too little in
 * `stallMs` of waiting.
 *
 * SECURITY: by a byte now and then (slow loris) a client could hold a connection, a place in the sandbox and a session
 * that is never idle, for ever. Earlier fast bytes do not extend the time. Only time spent waiting for the sender
 * counts; the consumer may be slow.
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
    if (sinceMs > stallMs / 2) return; // this process was stalled: data of the sender is not read yet
    const since = source.waitingSince();
    const standsMs = since === undefined ? 0 : performance.now() - since;
    if (standsMs >= stallMs) source.giveUp(tooSlow(`no data for ${stallMs / 1000} s`));
    else if (waitedMs + standsMs >= stallMs && bytes < leastBytes) {
      source.giveUp(tooSlow(`${bytes} bytes in ${stallMs / 1000} s; the minimum is ${leastBytes}`));
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

/** SECURITY: a body is counted while it arrives, whatever its declared length. */
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
