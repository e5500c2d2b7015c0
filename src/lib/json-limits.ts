/** What a document from outside may hold. What is large in a proper one is a string. */
export interface JsonLimits {
  /** Members of objects and elements of lists, in all. */
  readonly members: number;
  /** Objects and lists inside each other. */
  readonly levels: number;
}

/** The largest proper message is a hundred calls at once, or an edit with a few hundred replacements. */
export const JSON_LIMITS: JsonLimits = { members: 10_000, levels: 64 };

const QUOTE = 0x22;
const COMMA = 0x2c;
const isOpening = (code: number) => code === 0x5b || code === 0x7b;
const isClosing = (code: number) => code === 0x5d || code === 0x7d;
const isLineEnd = (code: number) => code === 0x0a || code === 0x0d;

/**
 * Says what a text has too much of, before it is parsed. Of one that is no JSON it may say anything: the parser will. SECURITY: four megabytes of `"k1":0,` are no more than a large
 * file, but four hundred thousand members, and everything that looks at them takes seconds in which nobody else is served, and a hundred bytes for each.
 */
export function excessIn(text: string, limits: JsonLimits = JSON_LIMITS): string | undefined {
  return createJsonScan(limits)(text);
}

/** The same for text that comes in pieces; one that is decoded as Latin-1 will do. A string ends with its line, because no string of JSON goes beyond it. */
export function createJsonScan(limits: JsonLimits): (piece: string) => string | undefined {
  return createScan(limits, false);
}

/** The same for a stream of events, in which JSON is in lines of data. SECURITY: closing brackets in comments and other fields close nothing, or they would hide any depth. */
export function createEventScan(limits: JsonLimits): (piece: string) => string | undefined {
  return createScan(limits, true);
}

const DATA = 'data:';

function createScan({ members, levels }: JsonLimits, isOfEvents: boolean): (piece: string) => string | undefined {
  let count = 0;
  let level = 0;
  /** The characters of `DATA` that the line begins with; -1 in a line that begins with others. */
  let matched = 0;
  let isInString = false;
  let isEscaped = false;
  return (piece) => {
    for (let index = 0; index < piece.length; index += 1) {
      if (isEscaped && !isLineEnd(piece.charCodeAt(index))) index += 1;
      isEscaped = false;
      if (isInString) {
        const end = endOfPart(piece, index);
        if (end === -1) return undefined;
        isEscaped = piece[end] === '\\';
        isInString = isEscaped;
        if (isLineEnd(piece.charCodeAt(end))) matched = 0;
        index = end;
        continue;
      }
      const code = piece.charCodeAt(index);
      if (isLineEnd(code)) matched = 0;
      else if (matched !== -1 && matched < DATA.length) matched = code === DATA.charCodeAt(matched) ? matched + 1 : -1;
      if (code === QUOTE) isInString = true;
      else if (code === COMMA) count += 1;
      else if (isClosing(code)) level = isOfEvents && matched !== DATA.length ? level : Math.max(0, level - 1);
      else if (isOpening(code)) {
        count += 1;
        level += 1;
        if (level > levels) return `more than ${levels} objects and lists inside each other`;
      }
      if (count > members) return `more than ${members} members and elements`;
    }
    return undefined;
  };
}

/** Where the part of a string that begins at `start` ends: with the string, with its line, or before a character that is escaped. */
function endOfPart(text: string, start: number): number {
  const end = /["\\\r\n]/g;
  end.lastIndex = start;
  return end.exec(text)?.index ?? -1;
}
