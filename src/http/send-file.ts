import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { LEAST_BYTES_PER_S } from './read-body.ts';

export interface FileToSend {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Exactly this many bytes are sent; otherwise the connection is aborted, which a client notices. */
  readonly length: number;
  readonly pieces: AsyncIterable<Buffer>;
}

/**
 * Writes a file to Node's response, with backpressure. A client that reads nothing for `stallMs`, or too little in
 * `stallMs` of waiting, is disconnected, so that it cannot keep a file of a sandbox open at no cost. SECURITY: the
 * guest reports the length of the file and sends its content; if they differ, it lies or the file changed, and the
 * response must not look complete.
 */
export async function sendFile(
  outgoing: ServerResponse,
  { status, headers, length, pieces }: FileToSend,
  options: { stallMs: number },
): Promise<Response> {
  outgoing.writeHead(status, { ...headers, 'content-length': length });
  const reader = watchReader(outgoing, options.stallMs);
  let left = length;
  try {
    if (length > 0) {
      for await (const piece of pieces) {
        if (piece.length > left) break;
        left -= piece.length;
        const isTaken = outgoing.write(piece);
        reader.wrote(piece.length);
        if (!isTaken) await reader.drained();
        if (left === 0 || outgoing.destroyed) break;
      }
    }
    if (left === 0) outgoing.end();
    else outgoing.destroy();
  } catch {
    outgoing.destroy();
  } finally {
    reader.stop();
  }
  return RESPONSE_ALREADY_SENT;
}

interface WatchedReader {
  wrote(bytes: number): void;
  drained(): Promise<void>;
  stop(): void;
}

/** One timer and two listeners for a whole file, without new objects for each chunk. */
function watchReader(outgoing: ServerResponse, stallMs: number): WatchedReader {
  const leastBytes = (LEAST_BYTES_PER_S * stallMs) / 1000;
  let bytes = 0;
  let waitedMs = 0;
  let waitsSince: number | undefined;
  let wake: (() => void) | undefined;
  const late = setTimeout(() => outgoing.destroy(), stallMs);
  const goOn = () => {
    late.refresh();
    if (waitsSince !== undefined) waitedMs += performance.now() - waitsSince;
    waitsSince = undefined;
    if (waitedMs >= stallMs) {
      if (bytes < leastBytes) outgoing.destroy();
      waitedMs = 0;
      bytes = 0;
    }
    wake?.();
  };
  outgoing.on('drain', goOn).on('close', goOn);
  return {
    drained: () =>
      new Promise((resolve) => {
        if (outgoing.destroyed) return resolve();
        waitsSince = performance.now();
        wake = resolve;
      }),
    wrote: (count) => {
      bytes += count;
    },
    stop: () => {
      clearTimeout(late);
      outgoing.off('drain', goOn).off('close', goOn);
    },
  };
}
