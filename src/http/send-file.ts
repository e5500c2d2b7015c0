import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';

export interface FileToSend {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Exactly so many bytes are sent, or the connection is ended in the middle, which a client notices. */
  readonly length: number;
  readonly pieces: AsyncIterable<Buffer>;
}

/**
 * Writes a file to Node's own response, as fast as the reader takes it and no faster. A reader that takes nothing for `stallMs` is let go, so that nobody keeps
 * a sandbox's file open by doing nothing. SECURITY: the guest says how long the file is and sends it; where the two differ it lies or the file
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
        if (!outgoing.write(piece)) await reader.drained();
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

/** One timer and two listeners for a whole file: what is made anew for each piece of a large one is garbage of its own. */
function watchReader(outgoing: ServerResponse, stallMs: number): { drained(): Promise<void>; stop(): void } {
  let wake: (() => void) | undefined;
  const late = setTimeout(() => outgoing.destroy(), stallMs);
  const goOn = () => {
    late.refresh();
    wake?.();
  };
  outgoing.on('drain', goOn).on('close', goOn);
  return {
    drained: () =>
      new Promise((resolve) => {
        if (outgoing.destroyed) return resolve();
        wake = resolve;
      }),
    stop: () => {
      clearTimeout(late);
      outgoing.off('drain', goOn).off('close', goOn);
    },
  };
}
