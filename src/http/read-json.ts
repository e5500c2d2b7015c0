import type { IncomingMessage } from 'node:http';
import { createJsonParser, type Parsed, parseSmallJson, SMALL_JSON_BYTES } from '../lib/json-parser.ts';
import { createBodyReader } from './read-large-body.ts';

/** The body of a call, read whole. */
export interface JsonBody {
  readonly bytes: number;
  /** Gives the parsed document. A small one is parsed here: call it within a turn of its owner. */
  parsed(): Parsed;
}

export type JsonReader = (incoming: IncomingMessage, owner: string) => Promise<JsonBody>;

/** For all routes that take JSON. SECURITY: what is not small is parsed on the way, in slices and one document of an owner at a time, while its memory still counts as taken. */
export function createJsonReader(bodyBytes?: number): JsonReader {
  const read = createBodyReader(bodyBytes);
  const parse = createJsonParser();
  return (incoming, owner) =>
    read(incoming, owner, async (data) => {
      const bytes = data.length;
      if (bytes <= SMALL_JSON_BYTES) return { bytes, parsed: () => parseSmallJson(data) };
      const parsed = await parse(data, owner);
      return { bytes, parsed: () => parsed };
    });
}
