import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Limits the work that a request body can cause, and handles bodies that the server does not read. */
export interface UnreadBodies {
  /** Call for a new connection. */
  watch(socket: Socket): void;
  /** Call before a request is answered. */
  begin(incoming: IncomingMessage, outgoing: ServerResponse): void;
  /** Call for a new request to a server. Its connection is destroyed if the response comes in too many small chunks. */
  watchResponse(request: ClientRequest): void;
}

/** The parts of the HTTP parser that are used here. Node keeps parsers in a pool that clients and servers share. */
interface Parser {
  socket?: Socket | null;
  onIncoming?: ((...request: unknown[]) => number) | null;
  /** The callback for each chunk of a body. Without it the parser drops the body, at a fiftieth of the cost. */
  [ON_BODY]?: OnBody | undefined;
}

interface OnBody {
  (this: Parser, piece: Buffer): unknown;
  /** Node's own callback, as a property of the one that replaces it. */
  [NODES_OWN]?: OnBody;
}

/** `HTTPParser.kOnBody`. */
const ON_BODY = 3;
const NODES_OWN = Symbol('the onBody of Node');
const REFUSED = -1;

/** The allowed number of chunks: `free` at once, one for each `bytesEach` bytes, and `perSecond` in each second. */
export interface PiecesLimit {
  readonly free: number;
  readonly bytesEach: number;
  readonly perSecond: number;
}

const PIECES_OF_A_BODY: PiecesLimit = { free: 256, bytesEach: 256, perSecond: 100 };

export interface UnreadBodiesOptions {
  /** The limit of each body; with `together`, of all bodies on all connections. */
  readonly pieces?: PiecesLimit;
  /** For connections of one client, which could spread its chunks over as many as it likes. */
  readonly together?: boolean;
}

/** Responses before the one that counts (1xx). */
const MOST_INFORMED = 32;

/** The time that a client gets to read a response that was sent before the end of its request. */
const LINGER_MS = 500;

interface Count {
  unpaid: number;
  since: number;
}

/**
 * SECURITY: a body of one-byte chunks costs its sender nothing and the server a callback for each: a packet of 64 kB
 * takes 40 ms, and a few connections of an unauthenticated client could occupy the event loop. So there are two rules.
 * A body in too many small chunks ends its connection. And a body that is not read to its end (the request was refused)
 * is not parsed any further: the response has `connection: close`, nothing is read after it, and the connection is
 * destroyed a moment later, so that the client can read the response before the reset.
 *
 * SECURITY: the callback never wraps the one it finds. Node can return a parser to its pool before the connection
 * closes (as for CONNECT), and nested wrappers would grow with each connection until a body overflows the stack. There
 * is one callback for all parsers: it stays in place in the pool, finds the connection by the parser, and for an
 * unknown connection calls Node's own.
 */
export function createUnreadBodies({
  pieces = PIECES_OF_A_BODY,
  together = false,
}: UnreadBodiesOptions = {}): UnreadBodies {
  const counts = new WeakMap<Socket, Count>();
  const responses = new WeakSet<Socket>();
  const newCount = (): Count => ({ unpaid: 0, since: performance.now() });
  const common = together ? newCount() : undefined;

  function countedWith(nodesOwn: OnBody): OnBody {
    const onBody: OnBody = function (piece) {
      const { socket } = this;
      if (!socket || !isFlood(counts.get(socket), piece.length, pieces)) return nodesOwn.call(this, piece);
      // Node may return the parser of a response to its pool in this very turn, and there it must have its callback.
      if (!responses.has(socket)) stopParsing(this);
      return socket.destroy();
    };
    onBody[NODES_OWN] = nodesOwn;
    return onBody;
  }

  let counted: OnBody | undefined;
  /** The callback for the parser of a connection, which has it afterwards. */
  function countIn(parser: Parser | undefined): OnBody | undefined {
    const found = parser?.[ON_BODY];
    if (parser === undefined || found === undefined) return undefined;
    counted ??= countedWith(found[NODES_OWN] ?? found);
    parser[ON_BODY] = counted;
    return counted;
  }

  return {
    watch(socket) {
      const parser = parserOf(socket);
      const onBody = countIn(parser);
      if (parser === undefined || onBody === undefined) return;
      // Before Node's own listener returns the parser to the pool.
      socket.prependOnceListener('close', () => {
        parser[ON_BODY] ??= onBody;
      });
    },

    begin(incoming, outgoing) {
      if (!hasBody(incoming)) return;
      counts.set(incoming.socket, common ?? newCount());
      const { shouldKeepAlive } = outgoing;
      outgoing.shouldKeepAlive = false;
      incoming.once('end', () => {
        outgoing.shouldKeepAlive = shouldKeepAlive;
      });
      outgoing.once('prefinish', () => {
        if (!incoming.readableEnded) leaveUnread(incoming.socket);
      });
    },

    watchResponse(request) {
      let informed = 0;
      request.once('socket', (socket) => {
        responses.add(socket);
        counts.set(socket, common ?? newCount());
        countIn(parserOf(socket));
        // SECURITY: each costs as much as a response.
        request.on('information', () => {
          informed += 1;
          const parser = parserOf(socket);
          if (informed > MOST_INFORMED && parser !== undefined) refuseMessages(parser);
        });
      });
    },
  };
}

/** Whether the request has a body. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
}

/** A leaky bucket: large chunks and time pay for small ones, and what is not used is not saved up. */
function isFlood(count: Count | undefined, bytes: number, { free, bytesEach, perSecond }: PiecesLimit): boolean {
  if (count === undefined) return false;
  const now = performance.now();
  const paid = bytes / bytesEach + ((now - count.since) / 1000) * perSecond;
  count.since = now;
  // No more than that: chunks that come after the last allowed one are not to be paid for by later connections.
  count.unpaid = Math.min(free + 1, Math.max(0, count.unpaid + 1 - paid));
  return count.unpaid > free;
}

/** Node calls `destroySoon` when the last response of a connection is sent. */
function leaveUnread(socket: Socket): void {
  const parser = parserOf(socket);
  if (parser !== undefined) stopParsing(parser);
  socket.destroySoon = () => {
    socket.end();
    setImmediate(() => socket.pause()); // after Node has started to read the rest
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
}

function stopParsing(parser: Parser): void {
  parser[ON_BODY] = undefined;
  refuseMessages(parser);
}

/** The next message ends the connection. */
function refuseMessages(parser: Parser): void {
  const { socket } = parser;
  parser.onIncoming = () => {
    socket?.destroy();
    return REFUSED;
  };
}

function parserOf(socket: Socket): Parser | undefined {
  return (socket as Socket & { parser?: Parser | null }).parser ?? undefined;
}
