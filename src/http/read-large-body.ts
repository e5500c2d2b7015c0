import type { IncomingMessage } from 'node:http';
import { createFairQueue } from '../lib/fair-queue.ts';
import { readBody } from './read-body.ts';

const SMALL_BYTES = 65_536;
const LARGE_AT_ONCE_BYTES = 32 * 1_048_576;
const BODY_MS = 30_000;

/** Of most requests. */
export const BODY_BYTES = 4 * 1_048_576;

/** Reads a request's body whole, on behalf of an owner. */
export type BodyReader = (incoming: IncomingMessage, owner: string) => Promise<Buffer>;

/** SECURITY: larger bodies are read a few at a time, owner by owner: a hundred clients with the largest one each must not take the server's memory. */
export function createBodyReader(bodyBytes: number = BODY_BYTES): BodyReader {
  const large = createFairQueue(Math.max(1, Math.floor(LARGE_AT_ONCE_BYTES / bodyBytes)));
  return async (incoming, owner) => {
    const size = incoming.headers['content-length'];
    const isSmall = size !== undefined && Number(size) <= SMALL_BYTES;
    const release = isSmall ? undefined : await large.take(owner);
    try {
      return await readBody(incoming, { bytes: bodyBytes, timeMs: BODY_MS });
    } finally {
      release?.();
    }
  };
}
