import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { DEFAULT_HEADERS } from './guards.ts';

/** The time that the head of a response waits for its first event. */
const HEAD_MS = 20;

/** Whether a response is an event stream. */
export function isEvents(response: Response): boolean {
  return response.body !== null && response.headers.get('content-type') === 'text/event-stream';
}

export interface EventOptions {
  /** Callback after the first event was written. */
  begun?(): void;
  /** Whether the client may still leave responses unread. */
  mayWait?(): boolean;
}

/**
 * Writes an event stream to Node's response, with backpressure. Its head is sent with the first event, so that a short
 * call takes one write; if no event comes soon, the head is sent alone, because clients give up on a silent server. A
 * client that disconnects ends the stream. SECURITY: so does one with too many unread bytes. A client that reads
 * nothing is found by the check of connections.
 */
export async function sendEvents(
  outgoing: ServerResponse,
  response: Response,
  { begun, mayWait = () => true }: EventOptions = {},
): Promise<Response> {
  const reader = response.body!.getReader();
  outgoing.writeHead(response.status, { ...DEFAULT_HEADERS, ...Object.fromEntries(response.headers) });
  const head = setTimeout(() => outgoing.flushHeaders(), HEAD_MS);
  let drained = () => {};
  outgoing.on('drain', () => drained());
  outgoing.once('close', () => {
    drained();
    reader.cancel().catch(() => {}); // it has failed, and the loop below handles it
  });
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done || outgoing.destroyed) break;
      clearTimeout(head);
      if (!mayWait()) throw new Error('this client has too many unread bytes');
      const isTaken = outgoing.write(value);
      begun?.();
      if (isTaken) continue;
      await new Promise<void>((resolve) => {
        drained = resolve;
      });
    }
    outgoing.end();
  } catch {
    reader.cancel().catch(() => {});
    outgoing.destroy(); // the client must not take a truncated response for a complete one
  } finally {
    clearTimeout(head);
  }
  return RESPONSE_ALREADY_SENT;
}
