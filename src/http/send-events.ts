import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { QUIET } from './guards.ts';

/** So long the head of an answer waits for its first event. */
const HEAD_MS = 20;

/** Whether an answer comes piece by piece. */
export function isEvents(response: Response): boolean {
  return response.body !== null && response.headers.get('content-type') === 'text/event-stream';
}

export interface EventOptions {
  /** Called when the first event was written. */
  begun?(): void;
  /** Whether the reader may still keep what it does not take. */
  mayWait?(): boolean;
}

/**
 * Writes an answer in events to Node's own response, as fast as the reader takes it. Its head goes out with the first event, so that a call which ends at once
 * costs one write; where none comes soon the head goes alone, because clients give up on a server that shows nothing. A reader that leaves ends the stream.
 * SECURITY: so does one that has more waiting than it may have. One that takes nothing is found by whoever watches the connections.
 */
export async function sendEvents(
  outgoing: ServerResponse,
  response: Response,
  { begun, mayWait = () => true }: EventOptions = {},
): Promise<Response> {
  const reader = response.body!.getReader();
  outgoing.writeHead(response.status, { ...QUIET, ...Object.fromEntries(response.headers) });
  const head = setTimeout(() => outgoing.flushHeaders(), HEAD_MS);
  let drained = () => {};
  outgoing.on('drain', () => drained());
  outgoing.once('close', () => {
    drained();
    reader.cancel().catch(() => {}); // it has failed, and the loop below knows
  });
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done || outgoing.destroyed) break;
      clearTimeout(head);
      if (!mayWait()) throw new Error('too much waits for this reader');
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
    outgoing.destroy(); // a reader must not take what it has for the whole
  } finally {
    clearTimeout(head);
  }
  return RESPONSE_ALREADY_SENT;
}
