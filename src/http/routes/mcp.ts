import type { Parsed } from '../../lib/json-parser.ts';
import type { CallWatch } from '../../mcp/call-watch.ts';
import { oversizedIn } from '../../mcp/message-limits.ts';
import { countCall } from '../counted-call.ts';
import type { HttpApp, HttpContext } from '../environment.ts';
import type { Shares } from '../in-turn.ts';
import type { McpEndpoint } from '../mcp/endpoint.ts';
import { createJsonReader } from '../read-json.ts';
import { isEvents, sendEvents } from '../send-events.ts';
import { LARGE_BYTES } from '../turns.ts';
import { mayLeaveUnread, requireReader, tooMuchUnread } from '../unread-answers.ts';
import { leavingOf, whenClosed } from '../when-closed.ts';

export interface McpRouteOptions extends Shares {
  readonly bodyBytes?: number;
}

/** `/mcp`: the MCP endpoint. The guard has authenticated the client. */
export function addMcpRoute(app: HttpApp, endpoint: McpEndpoint, { bodyBytes, ...shares }: McpRouteOptions): void {
  const { inFlight, turns } = shares;
  const read = createJsonReader(bodyBytes);

  app.all('/mcp', async (context) => {
    const { id } = context.get('owner');
    if (context.req.method !== 'POST') return sent(context, await answer(context, undefined));
    const message = await read(context.env.incoming, id);
    const { bytes } = message;
    const { outgoing } = context.env;
    const call = countCall(inFlight, id, { bytes });
    whenClosed(outgoing, call.hold());
    let gone: AbortSignal | undefined;
    const leaving = () => {
      gone ??= leavingOf(outgoing);
      return gone;
    };
    const endTurn = await turns.take(id, { leaving, bytes });
    const turn = async (workBytes: number) => {
      if (!endTurn.isOver() && workBytes <= LARGE_BYTES) return; // it still has one
      endTurn();
      (await turns.take(id, { leaving, bytes: workBytes }))();
    };
    try {
      const body = checked(message.parsed());
      if (body instanceof Response) return body;
      requireReader(shares, id);
      const response = await answer(context, body, { ...call, turn });
      if (!mayLeaveUnread(shares, id)) {
        response.body?.cancel().catch(() => {});
        throw tooMuchUnread();
      }
      return await sent(context, response, endTurn);
    } finally {
      endTurn();
    }
  });

  function answer(context: HttpContext, body: unknown, call?: CallWatch): Promise<Response> {
    return endpoint.answer(context.req.raw, body, { owner: context.get('owner'), call });
  }

  async function sent(context: HttpContext, response: Response, begun = () => {}): Promise<Response> {
    if (!isEvents(response)) return response;
    const { id } = context.get('owner');
    return sendEvents(context.env.outgoing, response, { begun, mayWait: () => mayLeaveUnread(shares, id) });
  }
}

const NO_BATCHES = 'JSON-RPC batches are not supported; send each message in a request of its own';

/** The message, or what is wrong with it. */
function checked(result: Parsed): object | Response {
  if ('excess' in result) return protocolError(-32600, `Invalid Request: ${result.excess}`);
  if ('fault' in result) return protocolError(-32700, 'Parse error: the body is not JSON');
  const body = result.value;
  if (typeof body !== 'object' || body === null) return protocolError(-32600, 'Invalid Request: not an object');
  // SECURITY: the responses of a batch are kept until the last one is ready, and one of them can wait for an hour.
  if (Array.isArray(body)) return protocolError(-32600, `Invalid Request: ${NO_BATCHES}`);
  const oversized = oversizedIn(body);
  return oversized === undefined ? body : protocolError(-32600, `Invalid Request: ${oversized}`);
}

function protocolError(code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status: 400 });
}
