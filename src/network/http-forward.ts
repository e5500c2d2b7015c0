import { createServer, type IncomingMessage, request as requestUpstream, type ServerResponse } from 'node:http';
import { type Duplex, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Connected, Connections } from './connections.ts';
import type { FailureReason, Refusal } from './contract.ts';
import { hostAndPort } from './host-name.ts';
import { destroyWhenIdle } from './idle.ts';
import { endToEnd, type ProxyRequest, parseProxyRequest, valuesOf } from './proxy-request.ts';
import { proxyAuthorization } from './proxy-tunnel.ts';
import type { Direction } from './usage.ts';

const LONGEST_HEADERS = 65_536;

export interface HttpForwarder {
  /** Serves the requests of one client until its stream is closed. */
  serve(client: Duplex): Promise<void>;
}

/**
 * Forwards requests of a plain HTTP proxy. It is Node's HTTP server, which never listens: streams of clients are handed to it. Each request is checked on its own
 * and gets a connection of its own, so that what was allowed once allows nothing later. Redirects go back to the client, which asks again.
 *
 * SECURITY: Node's parser reads both directions and writes them anew, so that client, server and we agree where a message ends (request smuggling).
 */
export function createHttpForwarder(connections: Connections): HttpForwarder {
  const options = { maxHeaderSize: LONGEST_HEADERS, requireHostHeader: false, keepAliveTimeout: 0 };
  const inFlight = new Map<Duplex, number>();
  const server = createServer({ ...options, insecureHTTPParser: false }, async (incoming, outgoing) => {
    const client: Duplex = incoming.socket;
    inFlight.set(client, (inFlight.get(client) ?? 0) + 1);
    await forward(connections, incoming, outgoing);
    inFlight.set(client, (inFlight.get(client) ?? 1) - 1);
  });
  return {
    serve: async (client) => {
      client.on('error', () => undefined);
      if (connections.isClosed()) client.destroy();
      if (client.destroyed) return;
      const closed = new Promise((resolve) => client.once('close', resolve));
      server.emit('connection', client);
      const forget = connections.whenClosed(() => client.destroy());
      // A request on its way has an idle time of its own, at whose end the client gets an answer.
      const isBusy = () => (inFlight.get(client) ?? 0) > 0;
      const { clock, limits } = connections.options;
      const cancel = destroyWhenIdle(client, { clock, idleMs: limits.idleMs, isBusy });
      await closed;
      cancel();
      forget();
      inFlight.delete(client);
    },
  };
}

async function forward(connections: Connections, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  outgoing.on('error', () => undefined);
  const parsed = parseProxyRequest({ url: incoming.url ?? '', rawHeaders: incoming.rawHeaders });
  if (parsed.kind === 'refused') {
    const { kind: _, host, port, ...refused } = parsed;
    return sayRefused(outgoing, connections.refuse({ host, port }, refused, 'http'));
  }
  const { target } = parsed.request;
  if (connections.options.tlsOnlyPorts.includes(target.port))
    return sayRefused(outgoing, connections.refuse(target, { why: 'not-tls' }, 'http'));
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  const opening = await connections.connect(target, 'http', gone.signal);
  if (opening.kind === 'refused') return sayRefused(outgoing, opening.refusal);
  if (opening.kind === 'failed') return sayFailed(outgoing, opening.failure);
  await exchange({ connections, connected: opening.connected, request: parsed.request }, incoming, outgoing);
}

interface Exchange {
  readonly connections: Connections;
  readonly connected: Connected;
  readonly request: ProxyRequest;
}

/** Sends the request and passes the response on. Never rejects; the connection is ended when it returns. */
async function exchange(
  { connections, connected, request }: Exchange,
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
  outgoing.once('close', () => socket.destroy());
  const upstream = requestUpstream({
    createConnection: () => socket,
    method: incoming.method,
    path: pathFor(connected, request),
    headers: [...request.headers, ...framing(incoming), ...authorizationFor(connected)],
    maxHeaderSize: LONGEST_HEADERS,
  });
  try {
    const response = new Promise<IncomingMessage>((resolve, reject) =>
      upstream.once('response', resolve).on('error', reject),
    );
    // A server may answer before it has read all, or refuse to read on: then its answer counts.
    void pipeline(incoming, counter('sent', connected, stop), upstream).catch(() => undefined);
    const answer = await response;
    outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEnd(answer.rawHeaders));
    await pipeline(answer, counter('received', connected, stop), outgoing);
    connected.end('ended');
  } catch {
    connected.end(refusal !== undefined ? 'refused' : isIdle ? 'idle' : 'broken');
    if (refusal !== undefined) sayRefused(outgoing, refusal);
    else sayFailed(outgoing, isIdle ? 'timed-out' : connected.proxy === undefined ? 'unreachable' : 'proxy-failed');
  } finally {
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
  if (outgoing.headersSent) {
    // The client must see that the response is cut off.
    outgoing.destroy();
    return;
  }
  outgoing.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${text}\n`);
}
