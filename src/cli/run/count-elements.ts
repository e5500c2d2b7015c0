const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const [LINE_FEED, CARRIAGE_RETURN] = [0x0a, 0x0d] as const;

/**
 * Counts the elements of JSON as it passes: commas that stand in no string. Also in a stream of events, because no string of JSON goes beyond its line,
 * and a line of theirs may end with either character.
 * SECURITY: whoever checks a list by a schema keeps a complaint of every wrong element, a hundred times as large as the element. So lists are bounded before they are parsed.
 */
export function createElementCounter(): (piece: Uint8Array) => number {
  let count = 0;
  let isInString = false;
  let isEscaped = false;
  return (piece) => {
    for (const byte of piece) {
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) isInString = isEscaped = false;
      else if (isEscaped) isEscaped = false;
      else if (byte === QUOTE) isInString = !isInString;
      else if (isInString) isEscaped = byte === BACKSLASH;
      else if (byte === COMMA) count += 1;
    }
    return count;
  };
}
