import { type ClientRequest, type IncomingMessage, request as requestUpstream, type ServerResponse } from 'node:http';
import { type Duplex, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Connected, Connections } from './connections.ts';
import type { Refusal } from './contract.ts';
import { hostAndPort } from './host-name.ts';
import { sayFailed, sayRefused } from './http-replies.ts';
import { endToEnd, type ProxyRequest, valuesOf } from './proxy-request.ts';
import { proxyAuthorization } from './proxy-tunnel.ts';
import type { Direction } from './usage.ts';

/** The longest headers of a request or a response. */
export const LONGEST_HEADERS = 65_536;

/** The client in the sandbox whose request it is. */
export interface ExchangeClient {
  /** Aborts when its stream is closed. Responses that wait for their turn are not closed with it. */
  readonly gone: AbortSignal;
  /** Limits the chunks of a response. SECURITY: a server is as strange as a client, and a session may have one of its own. */
  watchResponse(upstream: ClientRequest): void;
  /** Counts the headers of a message. False if they are too many, or too many in a short time. */
  takeHeaders(message: IncomingMessage): boolean;
}

export interface Exchange {
  readonly connections: Connections;
  readonly connected: Connected;
  readonly request: ProxyRequest;
  readonly client: ExchangeClient;
  /** TLS over the connection's socket, if we speak it ourselves. */
  readonly secured?: Duplex;
  readonly filter?: ResponseFilter;
}

/** Changes a response on its way to the client. */
export interface ResponseFilter {
  /**
   * The headers for the client, made from those that go on (`endToEnd`), or undefined for a response that must not be
   * passed on. SECURITY: that is decided by all headers that came: the others say how the body is encoded, too.
   */
  headers(
    endToEnd: readonly string[],
    answer: Pick<IncomingMessage, 'rawHeaders' | 'statusCode'>,
  ): string[] | undefined;
  body(): Transform;
}

/** Sends the request and passes the response on. Rejects only if the request cannot be sent at all. */
export async function exchange(
  { connections, connected, request, client, secured, filter }: Exchange,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { socket, target } = connected;
  const { gone: signal } = client;
  let refusal: Refusal | undefined;
  const stop = (why: Refusal['why']) => {
    refusal ??= connections.refuse(target, { why }, 'http');
    socket.destroy();
  };
  connected.onStop(stop);
  let isIdle = false;
  socket.setTimeout(connections.options.limits.idleMs, () => {
    isIdle = true;
    socket.destroy();
  });
  const abort = () => socket.destroy();
  signal.addEventListener('abort', abort, { once: true });
  const upstream = requestUpstream({
    createConnection: () => secured ?? socket,
    method: incoming.method,
    path: pathFor(connected, request),
    headers: [...request.headers, ...framing(incoming), ...authorizationFor(connected)],
    maxHeaderSize: LONGEST_HEADERS,
  });
  client.watchResponse(upstream);
  try {
    if (!connected.count('sent', request.path.length + request.headers.join('').length)) stop('too-many-bytes');
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      const fail = () => reject(new Error('no response'));
      // Another protocol (101), which was not asked for, comes as `upgrade`.
      upstream.once('response', resolve).once('upgrade', fail).once('close', fail).on('error', fail);
    });
    // SECURITY: a body goes only where a header that we send says how long it is, whatever the parser took for one.
    // A server may answer before it has read all, or refuse to read on: then its answer counts.
    if (isDelimited(incoming))
      void pipeline(incoming, counter('sent', connected, stop), upstream).catch(() => undefined);
    else upstream.end();
    const answer = await response;
    if (!connected.count('received', answer.rawHeaders.join('').length)) {
      stop('too-many-bytes');
      throw new Error('too many bytes');
    }
    if (!client.takeHeaders(answer)) throw new Error('too many headers');
    const headers = endToEnd(answer.rawHeaders);
    const passed = filter === undefined ? headers : filter.headers(headers, answer);
    if (passed === undefined) throw new Error('the response is not passed on');
    outgoing.writeHead(answer.statusCode ?? 502, passed);
    const filters = filter === undefined ? [] : [filter.body()];
    await pipeline([answer, counter('received', connected, stop), ...filters, outgoing], { signal });
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
function framing(incoming: IncomingMessage): string[] {
  if (valuesOf(incoming.rawHeaders, 'transfer-encoding').length > 0) return ['Transfer-Encoding', 'chunked'];
  return isDelimited(incoming) || !['POST', 'PUT', 'PATCH'].includes(incoming.method ?? '')
    ? []
    : ['Content-Length', '0'];
}

/** Whether a header says where the body ends: then there may be one. */
function isDelimited({ rawHeaders }: IncomingMessage): boolean {
  return ['transfer-encoding', 'content-length'].some((name) => valuesOf(rawHeaders, name).length > 0);
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
