import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Sees to it that a connection has one request under way. */
export interface OneAtATime {
  /** A new connection. */
  watch(socket: Socket): void;
  /** Its next request is being answered. */
  answers(socket: Socket, outgoing: ServerResponse): void;
}

/** Node's parser of a connection, as far as it is used here. What it calls for a request may refuse it, and then the rest is not parsed. */
interface Parser {
  onIncoming?: (...request: unknown[]) => number;
}

const REFUSED = -1;

/**
 * SECURITY: whoever sends the next request before the last answer is out (pipelining) gets thousands of them into one packet. All of them would be parsed and begun at once, while
 * everybody else waits, and answers that nobody reads would pile up. No client of today does so: the connection is ended. That happens in the parser, because what a
 * packet holds is parsed to its end otherwise, which alone costs 30 ms. Where a later Node has no such callback, the request itself is refused.
 */
export function createOneAtATime(): OneAtATime {
  const answers = new WeakMap<Socket, ServerResponse>();
  const isBusy = (socket: Socket) => answers.get(socket)?.writableFinished === false;

  return {
    watch(socket) {
      const parser = (socket as Socket & { parser?: Parser | null }).parser;
      const onIncoming = parser?.onIncoming;
      if (!parser || onIncoming === undefined) return;
      parser.onIncoming = (...request) => {
        if (!isBusy(socket)) return onIncoming(...request);
        socket.destroy();
        return REFUSED;
      };
    },
    answers(socket, outgoing) {
      if (isBusy(socket)) socket.destroy();
      else answers.set(socket, outgoing);
    },
  };
}
