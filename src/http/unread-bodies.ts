import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Limits how much work a request's body can make, and what happens with a body that the server does not read. */
export interface UnreadBodies {
  /** Call for a new connection. */
  watch(socket: Socket): void;
  /** Call before a request is answered. */
  begin(incoming: IncomingMessage, outgoing: ServerResponse): void;
}

/** The HTTP parser of a connection, as far as it is used here. Node keeps parsers in a pool that clients and servers share. */
interface Parser {
  socket?: Socket | null;
  onIncoming?: ((...request: unknown[]) => number) | null;
  /** The callback for each piece of a body. Without a function here the parser drops the body, which costs a fiftieth. */
  [ON_BODY]?: OnBody | undefined;
}

interface OnBody {
  (this: Parser, piece: Buffer): unknown;
  /** Node's own callback, on a callback that stands in its place. */
  [NODES_OWN]?: OnBody;
}

/** `HTTPParser.kOnBody`. */
const ON_BODY = 3;
const NODES_OWN = Symbol('the onBody of Node');
const REFUSED = -1;

/** The pieces that a body may come in: so many, and one more for each so many bytes, and so many in each second. */
const PIECES = { free: 256, bytesEach: 256, perSecond: 100 };

/** The time that a client gets to read an answer that came before the end of its request. */
const LINGER_MS = 500;

interface Count {
  pieces: number;
  bytes: number;
  since: number;
}

/**
 * SECURITY: a body of one-byte chunks costs its sender nothing and the server a callback for each: a packet of 64 kB costs 40 ms, and a few connections of a stranger
 * take all of the thread. So there are two rules. A body in too many small pieces ends its connection. And a body that is not read to its end (the request was
 * refused) is not parsed any further: the answer says `connection: close`, nothing is read after it, and the connection is destroyed a moment later, so that the
 * client can read the answer before the reset.
 *
 * SECURITY: the callback never wraps the one it finds. Node can give a parser back to its pool before the connection closes (it does so for CONNECT), and wrappers of wrappers would grow
 * with each connection until a body overflows the stack. There is one callback for all parsers: it stays in place in the pool, finds the connection by the parser, and for a
 * connection that it does not know calls Node's own.
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
      // Before Node's own listener gives the parser back to the pool.
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

/** Whether the client announced a body. */
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

/** Node calls `destroySoon` when the last answer of a connection is out. */
function leaveUnread(socket: Socket): void {
  const parser = parserOf(socket);
  if (parser !== undefined) stopParsing(parser);
  socket.destroySoon = () => {
    socket.end();
    setImmediate(() => socket.pause()); // after Node has begun to read what is left
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
