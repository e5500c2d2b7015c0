import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Connections } from './connections.ts';
import type { Target } from './contract.ts';
import { exchange, LONGEST_HEADERS } from './http-exchange.ts';
import { say, sayFailed, sayRefused } from './http-replies.ts';
import { destroyWhenIdle } from './idle.ts';
import { parseProxyRequest } from './proxy-request.ts';

const TOO_MANY_CLIENTS = 'HTTP/1.1 503 Too many connections\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

export interface HttpForwarder {
  /** Serves the requests of one client until its stream is closed. With a target, they are those of a client that is connected to it: `GET /path`. */
  serve(stream: Duplex, target?: Target): Promise<void>;
}

/**
 * Forwards requests of a plain HTTP proxy. It is Node's HTTP server, which never listens: streams of clients are handed to it. Each request is checked on its own
 * and gets a connection of its own, so that what was allowed once allows nothing later. Redirects go back to the client, which asks again.
 *
 * SECURITY: Node's parser reads both directions and writes them anew, so that client, server and we agree where a message ends (request smuggling).
 */
export function createHttpForwarder(connections: Connections): HttpForwarder {
  const options = { maxHeaderSize: LONGEST_HEADERS, requireHostHeader: false, keepAliveTimeout: 0 };
  const clients = new Map<Duplex, Client>();
  const server = createServer({ ...options, insecureHTTPParser: false }, async (incoming, outgoing) => {
    const client = clients.get(incoming.socket);
    if (client === undefined) return void outgoing.destroy();
    client.inFlight += 1;
    // Requests that a client sends without waiting take turns: they get no more connections than others.
    client.turn = client.turn
      .then(() => forward({ connections, client }, incoming, outgoing))
      .catch(() => {
        // What Node's client refuses to send, a header for instance.
        say(outgoing, 400, 'The request cannot be passed on.');
      });
    await client.turn;
    client.inFlight -= 1;
  });
  const { clock, limits } = connections.options;
  return {
    serve: async (stream, target) => {
      stream.on('error', () => undefined);
      if (connections.isClosed()) stream.destroy();
      if (stream.destroyed) return;
      const closed = new Promise((resolve) => stream.once('close', resolve));
      // SECURITY: a client costs memory even if it asks for nothing.
      if (clients.size >= limits.connections) {
        stream.end(TOO_MANY_CLIENTS, () => stream.destroy());
        await closed;
        return;
      }
      const client: Client = { target, inFlight: 0, turn: Promise.resolve(), gone: new AbortController() };
      clients.set(stream, client);
      server.emit('connection', stream);
      const forget = connections.whenClosed(() => stream.destroy());
      // A request on its way has an idle time of its own, at whose end the client gets an answer.
      const isBusy = () => client.inFlight > 0;
      const cancel = destroyWhenIdle(stream, { clock, idleMs: limits.idleMs, isBusy });
      await closed;
      client.gone.abort();
      cancel();
      forget();
      clients.delete(stream);
    },
  };
}

interface Client {
  /** For a client that believes to be connected to the server itself. */
  readonly target: Target | undefined;
  inFlight: number;
  /** Resolves when its requests so far are done. */
  turn: Promise<void>;
  /** Aborts when its stream is closed. Responses that wait for their turn are not closed with it. */
  readonly gone: AbortController;
}

async function forward(
  { connections, client }: { connections: Connections; client: Client },
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  outgoing.on('error', () => undefined);
  if (client.gone.signal.aborted) return;
  const parsed = parseProxyRequest({ url: incoming.url ?? '', rawHeaders: incoming.rawHeaders }, client.target);
  if (parsed.kind === 'refused') {
    const { kind: _, host, port, ...refused } = parsed;
    return sayRefused(outgoing, connections.refuse({ host, port }, refused, 'http'));
  }
  const { target } = parsed.request;
  if (connections.options.tlsOnlyPorts.includes(target.port))
    return sayRefused(outgoing, connections.refuse(target, { why: 'not-tls' }, 'http'));
  const { signal } = client.gone;
  const opening = await connections.connect(target, 'http', signal);
  if (opening.kind === 'refused') return sayRefused(outgoing, opening.refusal);
  if (opening.kind === 'failed') return sayFailed(outgoing, opening.failure);
  try {
    await exchange({ connections, connected: opening.connected, request: parsed.request, signal }, incoming, outgoing);
  } finally {
    opening.connected.end('broken');
  }
}
