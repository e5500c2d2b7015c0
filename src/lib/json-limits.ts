/**
 * Limits on the structure of a JSON document from outside. Valid large documents are large because of their strings.
 */
export interface JsonLimits {
  /** Members of objects and elements of arrays, in total. */
  readonly members: number;
  /** Names of members of objects, in total. Each different one costs as much as ten elements. Unlimited if absent. */
  readonly names?: number;
  /** Nesting of objects and arrays. */
  readonly levels: number;
}

/** The largest regular message is a batch of a hundred calls, or an edit with a few hundred replacements. */
export const JSON_LIMITS: JsonLimits = { members: 10_000, levels: 64 };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const isOpening = (code: number) => code === 0x5b || code === 0x7b;
const isClosing = (code: number) => code === 0x5d || code === 0x7d;
const isLineEnd = (code: number) => code === 0x0a || code === 0x0d;

/**
 * Names the limit that a text exceeds, before it is parsed. For invalid JSON the result does not matter: the parser
 * rejects it. SECURITY: four megabytes of `"k1":0,` are no more than a large file, but four hundred thousand members.
 * Code that visits them would block the server for seconds and use a hundred bytes for each.
 */
export function excessIn(text: string, limits: JsonLimits = JSON_LIMITS): string | undefined {
  return createJsonScan(limits)(text);
}

/** Like `excessIn`; also tells how much memory the parsed value takes at most, besides the text of its strings. */
export function measureJson(text: string, limits: JsonLimits): { excess: string | undefined; structureBytes: number } {
  const { scan, structureBytes } = createScan(limits, false);
  return { excess: scan(text), structureBytes: structureBytes() };
}

/**
 * Like `excessIn`, for text in pieces; it may be decoded as Latin-1. A line break ends a string, because JSON strings
 * cannot contain one.
 */
export function createJsonScan(limits: JsonLimits): (piece: string) => string | undefined {
  return createScan(limits, false).scan;
}

/**
 * Like `createJsonScan`, for an event stream, whose `data` lines contain JSON. SECURITY: other lines are skipped;
 * closing brackets in comments would otherwise hide any depth.
 */
export function createEventScan(limits: JsonLimits): (piece: string) => string | undefined {
  return createScan(limits, true).scan;
}

const DATA = 'data:';

/**
 * Memory of an element, of an object or a list, and of a name, as Node takes at most. A name that is a number up to 47
 * makes a list of so many elements.
 */
const ELEMENT_BYTES = 32;
const PART_BYTES = 104;
const NAME_BYTES = 320;

interface Scan {
  readonly scan: (piece: string) => string | undefined;
  structureBytes(): number;
}

function createScan({ members, names = Number.POSITIVE_INFINITY, levels }: JsonLimits, isOfEvents: boolean): Scan {
  let count = 0;
  let opened = 0;
  let named = 0;
  let level = 0;
  /** The number of characters of `DATA` matched at the start of the line; -1 if the line starts differently. */
  let matched = 0;
  let isInString = false;
  let isEscaped = false;
  const scan = (piece: string): string | undefined => {
    for (let index = 0; index < piece.length; index += 1) {
      if (isInString) {
        const start = isEscaped && !isLineEnd(piece.charCodeAt(index)) ? index + 1 : index;
        const end = endOfString(piece, start);
        isEscaped = end > piece.length;
        if (end >= piece.length) return undefined;
        isInString = false;
        if (isLineEnd(piece.charCodeAt(end))) matched = 0;
        index = end;
        continue;
      }
      const code = piece.charCodeAt(index);
      if (isLineEnd(code)) matched = 0;
      else if (matched !== -1 && matched < DATA.length) matched = code === DATA.charCodeAt(matched) ? matched + 1 : -1;
      if (code === QUOTE) isInString = true;
      else if (code === COMMA) count += 1;
      else if (code === COLON) named += 1;
      else if (isClosing(code)) level = isOfEvents && matched !== DATA.length ? level : Math.max(0, level - 1);
      else if (isOpening(code)) {
        count += 1;
        opened += 1;
        level += 1;
        if (level > levels) return `more than ${levels} objects and lists inside each other`;
      }
      if (count > members) return `more than ${members} members and elements`;
      if (named > names) return `more than ${names} names of members`;
    }
    return undefined;
  };
  const structureBytes = () => ELEMENT_BYTES * (count - opened) + PART_BYTES * opened + NAME_BYTES * named;
  return { scan, structureBytes };
}

/**
 * The index at which a string that begins at `start` ends: its quotation mark or the end of its line. If the text ends
 * before that, the length of the text, plus one if the missing character is escaped. SECURITY: it reads character by
 * character; a regular expression that restarts at each escape takes 110 ms for four megabytes of them.
 */
function endOfString(text: string, start: number): number {
  let index = start;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    if (code === QUOTE || code === 0x0a || code === 0x0d) return index;
    // What is escaped is passed over, but for the end of a line.
    index += code === BACKSLASH && !isLineEnd(text.charCodeAt(index + 1)) ? 2 : 1;
  }
  return index;
}
