import type { IncomingMessage } from 'node:http';
import { createFairQueue } from '../../lib/fair-queue.ts';
import type { HttpApp, HttpContext } from '../environment.ts';
import type { McpEndpoint } from '../mcp/endpoint.ts';
import { readBody } from '../read-body.ts';
import { isEvents, sendEvents } from '../send-events.ts';

const BODY_BYTES = 4 * 1_048_576;
const BODY_MS = 30_000;

/** Larger bodies are read a few at a time: a hundred clients with the largest one each must not take the server's memory. */
const SMALL_BYTES = 65_536;
const LARGE_AT_ONCE_BYTES = 8 * BODY_BYTES;

/** `/mcp`: where clients speak the protocol. The guard has found out who asks. */
export function addMcpRoute(app: HttpApp, endpoint: McpEndpoint, bodyBytes: number = BODY_BYTES): void {
  const large = createFairQueue(Math.max(1, Math.floor(LARGE_AT_ONCE_BYTES / bodyBytes)));

  async function read(incoming: IncomingMessage, owner: string): Promise<Buffer> {
    const size = incoming.headers['content-length'];
    const isSmall = size !== undefined && Number(size) <= SMALL_BYTES;
    const release = isSmall ? undefined : await large.take(owner);
    try {
      return await readBody(incoming, { bytes: bodyBytes, timeMs: BODY_MS });
    } finally {
      release?.();
    }
  }

  app.all('/mcp', async (context) => {
    const response = await answer(context);
    return isEvents(response) ? sendEvents(context.env.outgoing, response) : response;
  });

  async function answer(context: HttpContext): Promise<Response> {
    const owner = context.get('owner');
    if (context.req.method !== 'POST') return endpoint.answer(context.req.raw, undefined, owner);
    const text = (await read(context.env.incoming, owner.id)).toString('utf8');
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      return protocolError(-32700, 'Parse error: the body is not JSON');
    }
    if (typeof body !== 'object' || body === null) return protocolError(-32600, 'Invalid Request: not an object');
    return endpoint.answer(context.req.raw, body, owner);
  }
}

function protocolError(code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status: 400 });
}
