import type { ServerResponse } from 'node:http';
import { HotcellError } from '../errors/hotcell-error.ts';

/** Calls `done` once, when a response or its connection has closed for any reason. */
export function whenClosed(outgoing: ServerResponse, done: () => void): void {
  const { socket } = outgoing.req;
  const end = () => {
    outgoing.off('close', end);
    socket.off('close', end);
    done();
  };
  outgoing.once('close', end);
  // SECURITY: a response that was queued behind another when the connection broke never gets the socket, and Node does
  // not close it.
  socket.once('close', end);
  if (outgoing.destroyed || socket.destroyed) end();
}

/** A signal that aborts when the client disconnects, so that it does not wait for a turn any more. */
export function leavingOf(outgoing: ServerResponse): AbortSignal {
  const left = new AbortController();
  whenClosed(outgoing, () => left.abort(new HotcellError('cancelled', 'the client disconnected')));
  return left.signal;
}
