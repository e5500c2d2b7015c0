import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createAllowance } from '../lib/allowance.ts';
import { hasTooManyHeaders, KEPT_HEADERS } from '../lib/header-count.ts';
import { limitPipelined } from '../lib/pipelined.ts';
import { createUnreadBodies } from '../lib/unread-bodies.ts';
import type { Connections } from './connections.ts';
import type { Target } from './contract.ts';
import { type ExchangeClient, LONGEST_HEADERS } from './http-exchange.ts';
import { say } from './http-replies.ts';
import { destroyWhenIdle } from './idle.ts';

const TOO_MANY_CLIENTS = 'HTTP/1.1 503 Too many connections\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/** Requests of a client that wait for an answer: apt sends ten without waiting. */
const MOST_WAITING = 32;

/**
 * Memory of the headers of all requests of the session that wait or are answered. Each name and value takes so many bytes beside its text.
 * SECURITY: of the shortest headers, one request of 64 kB takes two megabytes, and all clients together may have thousands waiting.
 */
const MOST_HEADER_BYTES = 16 * 1_048_576;
const HEADER_BYTES = 100;

/** Small chunks of requests and responses, of all clients of the session together: 10 µs each. */
const PIECES = { free: 8192, bytesEach: 64, perSecond: 4000 };

/**
 * Headers of requests and responses, of all clients of the session together. A message with too many counts as if all of it were the shortest ones.
 */
const HEADERS = { free: 16_384, perSecond: 8_000, mostDebt: 40_000 };
const SHORTEST_HEADER = 5;

/** A client in the sandbox, on a stream of its own. */
export interface HttpClient extends ExchangeClient {
  /** The target of a client that believes to be connected to the server itself. */
  readonly target: Target | undefined;
}

export type AnswerRequest = (client: HttpClient, incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

export interface HttpClients {
  /** Serves the requests of one client until its stream is closed. Never rejects. */
  serve(stream: Duplex, target?: Target): Promise<void>;
}

interface Served extends HttpClient {
  inFlight: number;
  /** Resolves when its requests so far are done. */
  turn: Promise<void>;
}

/**
 * The HTTP clients of one session. It is Node's HTTP server, which never listens: streams of clients are handed to it. `answer` answers each request; if it
 * rejects, the client gets 400.
 *
 * SECURITY: Node's parser reads both directions and writes them anew, so that client, server and we agree where a message ends (request smuggling).
 */
export function createHttpClients(connections: Connections, answer: AnswerRequest): HttpClients {
  const options = { maxHeaderSize: LONGEST_HEADERS, requireHostHeader: false, keepAliveTimeout: 0 };
  const clients = new Map<Duplex, Served>();
  const bodies = createUnreadBodies({ pieces: PIECES, together: true });
  let headerBytes = 0;
  const server = createServer({ ...options, insecureHTTPParser: false });
  const headers = createAllowance(HEADERS);
  const takeHeaders = (message: IncomingMessage) => {
    const isTooMany = hasTooManyHeaders(message);
    return headers.take(isTooMany ? LONGEST_HEADERS / SHORTEST_HEADER : message.rawHeaders.length / 2) && !isTooMany;
  };
  server.maxHeadersCount = KEPT_HEADERS;
  const inTurn = async (incoming: IncomingMessage, outgoing: ServerResponse, work: AnswerRequest) => {
    const client = clients.get(incoming.socket);
    const bytes = sizeOf(incoming.rawHeaders);
    const isTooMuch = headerBytes > 0 && headerBytes + bytes > MOST_HEADER_BYTES;
    if (client === undefined || client.inFlight >= MOST_WAITING || isTooMuch) return void incoming.socket.destroy();
    client.inFlight += 1;
    headerBytes += bytes;
    bodies.begin(incoming, outgoing);
    // Requests that a client sends without waiting take turns: they get no more connections than others.
    client.turn = client.turn
      .then(() => {
        outgoing.on('error', () => undefined);
        return client.gone.aborted ? undefined : work(client, incoming, outgoing);
      })
      // A request that Node's client refuses to send, because of a header for instance.
      .catch(() => say(outgoing, 400, 'The request cannot be passed on.'));
    await client.turn;
    client.inFlight -= 1;
    headerBytes -= bytes;
  };
  server.on('request', (incoming, outgoing) => inTurn(incoming, outgoing, answer));
  // SECURITY: Node would answer these by itself, any number of them from one packet.
  server.on('checkExpectation', (incoming, outgoing) => inTurn(incoming, outgoing, refuseExpectation));
  const { clock, limits } = connections.options;
  return {
    serve: async (stream, target) => {
      stream.on('error', () => undefined);
      if (connections.isClosed()) stream.destroy();
      if (stream.destroyed) return;
      const closed = new Promise((resolve) => stream.once('close', resolve));
      // SECURITY: a client costs memory even if it asks for nothing.
      if (clients.size >= limits.connections || headers.isSpent()) {
        stream.end(TOO_MANY_CLIENTS, () => stream.destroy());
        await closed;
        return;
      }
      const gone = new AbortController();
      const { watchResponse } = bodies;
      const client: Served = {
        target,
        inFlight: 0,
        turn: Promise.resolve(),
        gone: gone.signal,
        watchResponse,
        takeHeaders,
      };
      clients.set(stream, client);
      server.emit('connection', stream);
      limitPipelined(stream, (incoming) => !takeHeaders(incoming) || client.inFlight >= MOST_WAITING);
      bodies.watch(stream as Socket);
      const forget = connections.whenClosed(() => stream.destroy());
      // A request on its way has an idle time of its own, at whose end the client gets an answer.
      const isBusy = () => client.inFlight > 0;
      const cancel = destroyWhenIdle(stream, { clock, idleMs: limits.idleMs, isBusy });
      await closed;
      gone.abort();
      cancel();
      forget();
      clients.delete(stream);
    },
  };
}

function sizeOf(rawHeaders: readonly string[]): number {
  return rawHeaders.reduce((sum, text) => sum + text.length + HEADER_BYTES, 0);
}

async function refuseExpectation(_: HttpClient, __: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  say(outgoing, 417, 'The only expectation that can be met is 100-continue.');
}
