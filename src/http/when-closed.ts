import type { ServerResponse } from 'node:http';
import { HotcellError } from '../errors/hotcell-error.ts';

/** Calls `done` once, when a response or its connection has closed, however it ended. */
export function whenClosed(outgoing: ServerResponse, done: () => void): void {
  const { socket } = outgoing.req;
  const end = () => {
    outgoing.off('close', end);
    socket.off('close', end);
    done();
  };
  outgoing.once('close', end);
  // SECURITY: an answer that stood behind another when the connection broke has never been given it, and Node does not close it.
  socket.once('close', end);
  if (outgoing.destroyed || socket.destroyed) end();
}

/** Aborted when the client leaves: one that has gone waits for no turn. */
export function leavingOf(outgoing: ServerResponse): AbortSignal {
  const left = new AbortController();
  whenClosed(outgoing, () => left.abort(new HotcellError('cancelled', 'the client disconnected')));
  return left.signal;
}
