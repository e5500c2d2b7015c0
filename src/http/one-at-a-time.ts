import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { hasTooManyHeaders } from '../lib/header-count.ts';
import { limitPipelined } from '../lib/pipelined.ts';

/** Enforces that a connection has one request at a time (no pipelining). */
export interface OneAtATime {
  /** Registers a new connection. It is also ended by a request with too many headers. */
  watch(socket: Socket): void;
  /** A request of the connection is being answered. */
  answers(socket: Socket, outgoing: ServerResponse): void;
}

/**
 * SECURITY: a client that pipelines requests can put thousands of them into one packet. All would be parsed and started
 * at once, while other clients wait, and unread responses would accumulate. Current clients do not pipeline, so the
 * connection is ended. This happens in the parser, because otherwise the whole packet is parsed, which alone takes 30
 * ms. If a later Node has no such callback, the request itself is refused.
 */
export function createOneAtATime(): OneAtATime {
  const answers = new WeakMap<Socket, ServerResponse>();
  const isBusy = (socket: Socket) => answers.get(socket)?.writableFinished === false;

  return {
    watch(socket) {
      limitPipelined(socket, (incoming) => isBusy(socket) || hasTooManyHeaders(incoming));
    },
    answers(socket, outgoing) {
      if (isBusy(socket)) socket.destroy();
      else answers.set(socket, outgoing);
    },
  };
}
