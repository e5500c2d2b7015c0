import type { HttpApp, HttpContext } from '../environment.ts';
import type { McpEndpoint } from '../mcp/endpoint.ts';
import { BODY_BYTES, createBodyReader } from '../read-large-body.ts';
import { isEvents, sendEvents } from '../send-events.ts';

/** `/mcp`: where clients speak the protocol. The guard has found out who asks. */
export function addMcpRoute(app: HttpApp, endpoint: McpEndpoint, bodyBytes: number = BODY_BYTES): void {
  const read = createBodyReader(bodyBytes);

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
