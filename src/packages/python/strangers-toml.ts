import { parse } from 'smol-toml';

/**
 * Parses TOML that a session may have written. Undefined if it is invalid, or longer than `mostChars`.
 *
 * SECURITY: the parser works on the event loop, and takes up to a microsecond for each character.
 */
export function parseStrangersToml(text: string, mostChars: number): unknown {
  if (text.length > mostChars) return undefined;
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

export interface PlainTomlLimits {
  readonly mostChars: number;
  /** The number of characters outside of strings. Those of strings cost the parser nearly nothing, and are most of a lock. */
  readonly mostOutside: number;
}

/**
 * Parses TOML in the form in which uv writes a lock: bare keys without dots, strings of one line in double quotes without escapes, no comments. Undefined if it has
 * another form, or more than the limits.
 *
 * SECURITY: a build script may have written it. The form is so small that the scan is exact: what it takes for a string is one for the parser, too. In all of TOML,
 * a quote may stand in a comment or in another kind of string, and a scan that is mistaken about one of them lets 8 MB pass, which block the host for eight seconds.
 */
export function parsePlainToml(text: string, { mostChars, mostOutside }: PlainTomlLimits): unknown {
  if (text.length > mostChars || !isPlain(text, mostOutside)) return undefined;
  return parseStrangersToml(text, mostChars);
}

/** What the form does not have outside of strings. A dot is only in the seconds of a time, and no key has a colon. */
const FOREIGN = /['#]|(?<!:\d\d)\./;

function isPlain(text: string, mostOutside: number): boolean {
  if (text.includes('\\')) return false;
  let outside = 0;
  for (let at = 0; outside <= mostOutside; ) {
    const opening = text.indexOf('"', at);
    const between = text.slice(at, opening === -1 ? undefined : opening);
    outside += between.length + 2;
    if (FOREIGN.test(between)) return false;
    if (opening === -1) return outside - 2 <= mostOutside;
    const closing = text.indexOf('"', opening + 1);
    // A quote right behind a string would make it one of several lines.
    if (closing === -1 || text[closing + 1] === '"' || text.slice(opening, closing).includes('\n')) return false;
    at = closing + 1;
  }
  return false;
}
