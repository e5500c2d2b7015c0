import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Limits the work that a request body can cause, and handles bodies that the server does not read. */
export interface UnreadBodies {
  /** Call for a new connection. */
  watch(socket: Socket): void;
  /** Call before a request is answered. */
  begin(incoming: IncomingMessage, outgoing: ServerResponse): void;
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

/**
 * The allowed number of chunks of a body: a fixed number, one for each `bytesEach` bytes, and `perSecond` in each
 * second.
 */
const PIECES = { free: 256, bytesEach: 256, perSecond: 100 };

/** The time that a client gets to read a response that was sent before the end of its request. */
const LINGER_MS = 500;

interface Count {
  pieces: number;
  bytes: number;
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
export function createUnreadBodies(): UnreadBodies {
  const counts = new WeakMap<Socket, Count>();

  function countedWith(nodesOwn: OnBody): OnBody {
    const onBody: OnBody = function (piece) {
      const { socket } = this;
      if (!socket || !isFlood(counts.get(socket), piece.length)) return nodesOwn.call(this, piece);
      stopParsing(this);
      return socket.destroy();
    };
    onBody[NODES_OWN] = nodesOwn;
    return onBody;
  }

  let counted: OnBody | undefined;
  return {
    watch(socket) {
      const parser = parserOf(socket);
      const found = parser?.[ON_BODY];
      if (parser === undefined || found === undefined) return;
      counted ??= countedWith(found[NODES_OWN] ?? found);
      const onBody = counted;
      parser[ON_BODY] = onBody;
      // Before Node's own listener returns the parser to the pool.
      socket.prependOnceListener('close', () => {
        parser[ON_BODY] ??= onBody;
      });
    },

    begin(incoming, outgoing) {
      if (!hasBody(incoming)) return;
      counts.set(incoming.socket, { pieces: 0, bytes: 0, since: performance.now() });
      const { shouldKeepAlive } = outgoing;
      outgoing.shouldKeepAlive = false;
      incoming.once('end', () => {
        outgoing.shouldKeepAlive = shouldKeepAlive;
      });
      outgoing.once('prefinish', () => {
        if (!incoming.readableEnded) leaveUnread(incoming.socket);
      });
    },
  };
}

/** Whether the request has a body. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
}

function isFlood(count: Count | undefined, bytes: number): boolean {
  if (count === undefined) return false;
  count.pieces += 1;
  count.bytes += bytes;
  const over = count.pieces - PIECES.free - count.bytes / PIECES.bytesEach;
  return over > 0 && over > ((performance.now() - count.since) / 1000) * PIECES.perSecond;
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
  const { socket } = parser;
  parser[ON_BODY] = undefined;
  parser.onIncoming = () => {
    socket?.destroy();
    return REFUSED;
  };
}

function parserOf(socket: Socket): Parser | undefined {
  return (socket as Socket & { parser?: Parser | null }).parser ?? undefined;
}
