export interface OpenConstructs {
  /** How many brackets are open; below zero where too many were closed. */
  readonly brackets: number;
  readonly isInString: boolean;
  /** The last line ends with a backslash that joins it to the next. */
  readonly isContinuedLine: boolean;
  /** The text with its strings and comments emptied, and without line ends inside brackets. */
  readonly code: string;
}

interface Lexicon {
  /** Longest first. Those in `across` may hold line ends. */
  readonly quotes: readonly string[];
  readonly across: readonly string[];
  readonly comment: RegExp;
  /** Within single quotes a backslash is a character like any other. */
  readonly literalSingle?: boolean;
  /** First those that open, then those that close. */
  readonly brackets: string;
}

const C_LIKE: Lexicon = {
  quotes: ['"', "'", '`'],
  across: ['`'],
  comment: /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y,
  brackets: '([{)]}',
};
const LEXICONS: Readonly<Record<string, Lexicon>> = {
  python: {
    quotes: ['"""', "'''", '"', "'"],
    across: ['"""', "'''"],
    comment: /#[^\n]*/y,
    brackets: '([{)]}',
  },
  bash: {
    quotes: ['"', "'"],
    across: ['"', "'"],
    comment: /(?<=^|[\s;])#[^\n]*/y,
    literalSingle: true,
    brackets: '({)}',
  },
};

/** What `text` leaves open, by a look at its strings, comments and brackets. One pass, whatever the text. */
export function openConstructs(text: string, language: string): OpenConstructs {
  const lexicon = LEXICONS[language] ?? C_LIKE;
  const half = lexicon.brackets.length / 2;
  let brackets = 0;
  let code = '';
  let at = 0;
  while (at < text.length) {
    const comment = matchAt(lexicon.comment, text, at);
    if (comment !== undefined) {
      at += comment.length;
      continue;
    }
    const quote = lexicon.quotes.find((mark) => text.startsWith(mark, at));
    if (quote !== undefined) {
      const end = endOfString(text, at + quote.length, quote, lexicon);
      if (end === undefined) return { brackets, isInString: true, isContinuedLine: false, code };
      code += `${quote}${quote}`;
      at = end;
      continue;
    }
    const character = text[at]!;
    const place = lexicon.brackets.indexOf(character);
    if (place !== -1) brackets += place < half ? 1 : -1;
    code += character === '\n' && brackets > 0 ? ' ' : character;
    at += character === '\\' && text[at + 1] !== '\n' && at + 1 < text.length ? 2 : 1;
  }
  return { brackets, isInString: false, isContinuedLine: /\\$/.test(code), code };
}

/** Where the string ends; undefined where it does not. One that may not hold a line end stops at it: the kernel says what is wrong. */
function endOfString(text: string, from: number, quote: string, lexicon: Lexicon): number | undefined {
  const across = lexicon.across.includes(quote);
  const escapes = !(lexicon.literalSingle === true && quote === "'");
  for (let at = from; at < text.length; at += 1) {
    if (escapes && text[at] === '\\') at += 1;
    else if (text.startsWith(quote, at)) return at + quote.length;
    else if (text[at] === '\n' && !across) return at;
  }
  return across ? undefined : text.length;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  const sticky = new RegExp(pattern.source, 'y');
  sticky.lastIndex = at;
  return sticky.exec(text)?.[0];
}
