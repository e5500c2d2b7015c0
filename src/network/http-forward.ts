import {
  createServer,
  type IncomingMessage,
  request as requestUpstream,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { type Duplex, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Connected, Connections } from './connections.ts';
import type { FailureReason, Refusal, Target } from './contract.ts';
import { hostAndPort } from './host-name.ts';
import { destroyWhenIdle } from './idle.ts';
import { endToEnd, type ProxyRequest, parseProxyRequest, valuesOf } from './proxy-request.ts';
import { proxyAuthorization } from './proxy-tunnel.ts';
import type { Direction } from './usage.ts';

const LONGEST_HEADERS = 65_536;
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

interface Exchange {
  readonly connections: Connections;
  readonly connected: Connected;
  readonly request: ProxyRequest;
  readonly signal: AbortSignal;
}

/** Sends the request and passes the response on. Rejects only if the request cannot be sent at all. */
async function exchange(
  { connections, connected, request, signal }: Exchange,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { socket, target } = connected;
  const { limits } = connections.options;
  let refusal: Refusal | undefined;
  const stop = (why: Refusal['why']) => {
    refusal ??= connections.refuse(target, { why }, 'http');
    socket.destroy();
  };
  connected.onStop(stop);
  let isIdle = false;
  socket.setTimeout(limits.idleMs, () => {
    isIdle = true;
    socket.destroy();
  });
  const abort = () => socket.destroy();
  signal.addEventListener('abort', abort, { once: true });
  const upstream = requestUpstream({
    createConnection: () => socket,
    method: incoming.method,
    path: pathFor(connected, request),
    headers: [...request.headers, ...framing(incoming), ...authorizationFor(connected)],
    maxHeaderSize: LONGEST_HEADERS,
  });
  try {
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      const fail = () => reject(new Error('no response'));
      // Another protocol (101), which was not asked for, comes as `upgrade`.
      upstream.once('response', resolve).once('upgrade', fail).once('close', fail).on('error', fail);
    });
    // A server may answer before it has read all, or refuse to read on: then its answer counts.
    void pipeline(incoming, counter('sent', connected, stop), upstream).catch(() => undefined);
    const answer = await response;
    outgoing.writeHead(answer.statusCode ?? 502, endToEnd(answer.rawHeaders));
    await pipeline(answer, counter('received', connected, stop), outgoing, { signal });
    connected.end('ended');
  } catch {
    connected.end(refusal !== undefined ? 'refused' : isIdle ? 'idle' : 'broken');
    if (refusal !== undefined) sayRefused(outgoing, refusal);
    else sayFailed(outgoing, isIdle ? 'timed-out' : connected.proxy === undefined ? 'unreachable' : 'proxy-failed');
  } finally {
    signal.removeEventListener('abort', abort);
    upstream.destroy();
  }
}

/** Through a proxy of the host, the request is in absolute form again. */
function pathFor({ proxy, target }: Connected, { path }: ProxyRequest): string {
  return proxy === undefined ? path : `http://${hostAndPort(target)}${path}`;
}

function authorizationFor({ proxy }: Connected): string[] {
  return proxy === undefined ? [] : Object.entries(proxyAuthorization(proxy)).flat();
}

/**
 * SECURITY: how the body is delimited, said anew. Without it Node would send the body of a GET bare, and the server would read it as a second request, which
 * nothing has checked.
 */
function framing({ rawHeaders, method }: IncomingMessage): string[] {
  if (valuesOf(rawHeaders, 'transfer-encoding').length > 0) return ['Transfer-Encoding', 'chunked'];
  const hasLength = valuesOf(rawHeaders, 'content-length').length > 0;
  return hasLength || !['POST', 'PUT', 'PATCH'].includes(method ?? '') ? [] : ['Content-Length', '0'];
}

/** Counts a body against the limits of the session. */
function counter(direction: Direction, connected: Connected, stop: (why: 'too-many-bytes') => void): Transform {
  return new Transform({
    transform(chunk: Buffer, _, done) {
      if (connected.count(direction, chunk.length)) return done(null, chunk);
      stop('too-many-bytes');
      done(new Error('too many bytes'));
    },
  });
}

function sayRefused(outgoing: ServerResponse, { host, port, why }: Refusal): void {
  const status = why === 'bad-request' || why === 'bad-host' ? 400 : 403;
  say(outgoing, status, `The network policy of this session refuses ${hostAndPort({ host, port })}: ${why}.`);
}

function sayFailed(outgoing: ServerResponse, failure: FailureReason): void {
  say(outgoing, failure === 'timed-out' ? 504 : 502, `No connection to the server: ${failure}.`);
}

/** The connection is closed behind it: a body that nobody reads may still be on its way. */
function say(outgoing: ServerResponse, status: number, text: string): void {
  // A response that has begun is cut off, and the client must see that.
  if (outgoing.headersSent || outgoing.destroyed) return void outgoing.destroy();
  for (const name of outgoing.getHeaderNames()) outgoing.removeHeader(name);
  outgoing.writeHead(status, STATUS_CODES[status], { 'content-type': 'text/plain', connection: 'close' });
  outgoing.end(`${text}\n`);
}
