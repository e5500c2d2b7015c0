import { once } from 'node:events';
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
  let left = length;
  try {
    if (length > 0) {
      for await (const piece of pieces) {
        if (outgoing.destroyed) return RESPONSE_ALREADY_SENT;
        if (piece.length > left) break;
        left -= piece.length;
        if (!outgoing.write(piece)) await drained(outgoing, options.stallMs);
        if (left === 0) break;
      }
    }
    if (left === 0) outgoing.end();
    else outgoing.destroy();
  } catch {
    outgoing.destroy();
  }
  return RESPONSE_ALREADY_SENT;
}

async function drained(outgoing: ServerResponse, stallMs: number): Promise<void> {
  if (outgoing.destroyed) return;
  const stop = new AbortController();
  const onClose = () => stop.abort();
  const late = setTimeout(() => outgoing.destroy(), stallMs);
  outgoing.once('close', onClose);
  try {
    await once(outgoing, 'drain', { signal: stop.signal });
  } catch {
    // It was closed: the caller sees that.
  } finally {
    clearTimeout(late);
    outgoing.off('close', onClose);
  }
}
