import { parse } from 'smol-toml';

/**
 * Parses TOML that a session or a build script may have written. Undefined if it is none, or more than a project or a lock has.
 *
 * SECURITY: the parser works on the event loop, and takes some microseconds for each character outside of strings: a file of 3 MB blocked the host for ten seconds.
 * Characters of strings cost nearly nothing, and are most of a lock.
 */
export function parseStrangersToml(
  text: string,
  { mostChars, mostOutside }: { mostChars: number; mostOutside: number },
): unknown {
  if (text.length > mostChars || charsOutsideStrings(text, mostOutside) > mostOutside) return undefined;
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

const [QUOTE, BACKSLASH, LINE_FEED] = [0x22, 0x5c, 0x0a];

/** Counts the characters that are not in a string of one line, which is what locks have. Stops beyond `most`. */
function charsOutsideStrings(text: string, most: number): number {
  let outside = 0;
  let isString = false;
  for (let at = 0; at < text.length && outside <= most; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isString = !isString;
    else if (code === LINE_FEED) isString = false;
    else if (isString && code === BACKSLASH) at += 1;
    if (!isString || code === QUOTE) outside += 1;
  }
  return outside;
}
