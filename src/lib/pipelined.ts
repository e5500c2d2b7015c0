import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** The part of Node's HTTP parser that is used here. Its callback for a request may refuse it, and then the rest is not parsed. */
interface Parser {
  onIncoming?: (incoming: IncomingMessage, ...more: unknown[]) => number;
}

const REFUSED = -1;

/**
 * Ends a connection whose client sends another request while `isFull`, which is called once for each request. Call it when Node's server knows the connection. False if this Node has no such callback.
 *
 * SECURITY: in the parser, because a packet may hold thousands of requests (pipelining), which Node would parse and start at once.
 */
export function limitPipelined(stream: Duplex, isFull: (incoming: IncomingMessage) => boolean): boolean {
  const parser = (stream as Duplex & { parser?: Parser | null }).parser;
  const onIncoming = parser?.onIncoming;
  if (!parser || onIncoming === undefined) return false;
  parser.onIncoming = (incoming, ...more) => {
    if (!isFull(incoming)) return onIncoming(incoming, ...more);
    stream.destroy();
    return REFUSED;
  };
  return true;
}
