import type { ServerResponse } from 'node:http';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { excessIn } from '../../lib/json-limits.ts';
import { oversizedIn } from '../../mcp/message-limits.ts';
import type { HttpApp, HttpContext } from '../environment.ts';
import { createInFlight } from '../in-flight.ts';
import type { McpEndpoint } from '../mcp/endpoint.ts';
import { BODY_BYTES, createBodyReader } from '../read-large-body.ts';
import { isEvents, sendEvents } from '../send-events.ts';
import { createTurns } from '../turns.ts';

export interface McpRouteOptions {
  readonly bodyBytes?: number;
  /** Bytes of answers that wait for an owner's readers. */
  unsentBytes(owner: string): number;
}

/** SECURITY: what may wait for the readers of one owner. Each answer has some megabytes at most, and nothing else limits how many there are. */
const UNSENT_BYTES = 64 * 1_048_576;

/** `/mcp`: where clients speak the protocol. The guard has found out who asks. */
export function addMcpRoute(
  app: HttpApp,
  endpoint: McpEndpoint,
  { bodyBytes = BODY_BYTES, unsentBytes }: McpRouteOptions,
): void {
  const read = createBodyReader(bodyBytes);
  const inFlight = createInFlight();
  const turns = createTurns();

  app.all('/mcp', async (context) => {
    const { id } = context.get('owner');
    if (context.req.method !== 'POST') return sent(context, await answer(context, undefined));
    const text = (await read(context.env.incoming, id)).toString('utf8');
    const body = parsed(text);
    if (body instanceof Response) return body;
    const { outgoing } = context.env;
    whenClosed(outgoing, inFlight.claim(id, { messages: Array.isArray(body) ? body.length : 1, bytes: text.length }));
    const endTurn = await turns.take(id, leavingOf(outgoing));
    try {
      requireReader(id);
      const response = await answer(context, body);
      requireReader(id, response);
      return await sent(context, response, endTurn);
    } finally {
      endTurn();
    }
  });

  function answer(context: HttpContext, body: unknown): Promise<Response> {
    return endpoint.answer(context.req.raw, body, context.get('owner'));
  }

  async function sent(context: HttpContext, response: Response, begun = () => {}): Promise<Response> {
    if (!isEvents(response)) return response;
    const { id } = context.get('owner');
    return sendEvents(context.env.outgoing, response, { begun, mayWait: () => unsentBytes(id) <= UNSENT_BYTES });
  }

  function requireReader(owner: string, response?: Response): void {
    if (unsentBytes(owner) <= UNSENT_BYTES) return;
    response?.body?.cancel().catch(() => {});
    throw new HotcellError('too_much_in_flight', 'too many of your answers wait to be read', {
      remedy: 'Read the answers to your other calls first.',
    });
  }
}

/** The message, or what is wrong with it. */
function parsed(text: string): object | Response {
  const excess = excessIn(text);
  if (excess !== undefined) return protocolError(-32600, `Invalid Request: ${excess}`);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return protocolError(-32700, 'Parse error: the body is not JSON');
  }
  if (typeof body !== 'object' || body === null) return protocolError(-32600, 'Invalid Request: not an object');
  const oversized = oversizedIn(body);
  return oversized === undefined ? body : protocolError(-32600, `Invalid Request: ${oversized}`);
}

function whenClosed(outgoing: ServerResponse, done: () => void): void {
  const { socket } = outgoing.req;
  const end = () => {
    outgoing.off('close', end);
    socket.off('close', end);
    done();
  };
  outgoing.once('close', end);
  // SECURITY: an answer that stood behind another when the connection broke has never been given it, and Node does not close it.
  socket.once('close', end);
  if (outgoing.destroyed || socket.destroyed) end();
}

/** Aborted when the client leaves: one that has gone waits for no turn. */
function leavingOf(outgoing: ServerResponse): AbortSignal {
  const left = new AbortController();
  whenClosed(outgoing, () => left.abort(new HotcellError('cancelled', 'whoever asked has gone')));
  return left.signal;
}

function protocolError(code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status: 400 });
}
