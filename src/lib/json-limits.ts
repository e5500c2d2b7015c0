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
const BACKSLASH = 0x5c;
const isOpening = (code: number) => code === 0x5b || code === 0x7b;
const isClosing = (code: number) => code === 0x5d || code === 0x7d;

/**
 * Says what a text has too much of, before it is parsed. Of one that is no JSON it may say anything: the parser will. SECURITY: four megabytes of `"k1":0,` are no more than a large
 * file, but four hundred thousand members, and everything that looks at them takes seconds in which nobody else is served, and a hundred bytes for each.
 */
export function excessIn(text: string, { members, levels }: JsonLimits = JSON_LIMITS): string | undefined {
  let count = 0;
  let level = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfString(text, index + 1);
    else if (code === COMMA) count += 1;
    else if (isClosing(code)) level -= 1;
    else if (isOpening(code)) {
      count += 1;
      level += 1;
      if (level > levels) return `more than ${levels} objects and lists inside each other`;
    }
    if (count > members) return `more than ${members} members and elements`;
  }
  return undefined;
}

/** Where the quote is that ends it. */
function endOfString(text: string, start: number): number {
  for (let index = start; ; index += 1) {
    const quote = text.indexOf('"', index);
    if (quote === -1) return text.length;
    let slashes = 0;
    while (quote - slashes > start && text.charCodeAt(quote - slashes - 1) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote;
    index = quote;
  }
}
