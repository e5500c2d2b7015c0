import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { LEAST_BYTES_PER_S } from './read-body.ts';

export interface FileToSend {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Exactly so many bytes are sent, or the connection is ended in the middle, which a client notices. */
  readonly length: number;
  readonly pieces: AsyncIterable<Buffer>;
}

/**
 * Writes a file to Node's own response, as fast as the reader takes it and no faster. A reader that takes nothing for `stallMs`, or too little in `stallMs` of waiting
 * for it, is let go, so that nobody keeps a sandbox's file open by doing next to nothing. SECURITY: the guest says how long the file is and sends it; where the two differ it lies or the file
 * changed, and the answer must not pass for a whole one.
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

/** One timer and two listeners for a whole file: what is made anew for each piece of a large one is garbage of its own. */
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
