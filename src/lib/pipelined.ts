import type { Duplex } from 'node:stream';

/** The part of Node's HTTP parser that is used here. Its callback for a request may refuse it, and then the rest is not parsed. */
interface Parser {
  onIncoming?: (...request: unknown[]) => number;
}

const REFUSED = -1;

/**
 * Ends a connection whose client sends another request while `isFull`. Call it when Node's server knows the connection. False if this Node has no such callback.
 *
 * SECURITY: in the parser, because a packet may hold thousands of requests (pipelining), which Node would parse and start at once.
 */
export function limitPipelined(stream: Duplex, isFull: () => boolean): boolean {
  const parser = (stream as Duplex & { parser?: Parser | null }).parser;
  const onIncoming = parser?.onIncoming;
  if (!parser || onIncoming === undefined) return false;
  parser.onIncoming = (...request) => {
    if (!isFull()) return onIncoming(...request);
    stream.destroy();
    return REFUSED;
  };
  return true;
}
