import type { IncomingMessage } from 'node:http';

/**
 * The most headers of one request or response. SECURITY: each takes about a microsecond of the event loop, and the
 * shortest are so short that thousands fit into the size that a server accepts.
 */
export const MOST_HEADERS = 256;

/** Node's parser hands over so many headers at a time. */
const AT_A_TIME = 32;

/**
 * For `maxHeadersCount` of a server. SECURITY: beyond that Node drops headers, and still reads the body that they
 * announce. It leaves room to see that there are too many.
 */
export const KEPT_HEADERS = MOST_HEADERS + AT_A_TIME;

export function hasTooManyHeaders({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): boolean {
  return rawHeaders.length > 2 * MOST_HEADERS;
}
