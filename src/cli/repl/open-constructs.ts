export interface OpenConstructs {
  /** Number of open brackets; negative if too many were closed. */
  readonly brackets: number;
  readonly isInString: boolean;
  /** Whether the last line ends with a backslash that joins it to the next. */
  readonly isContinuedLine: boolean;
  /** The text with strings and comments emptied, and without line ends inside brackets. */
  readonly code: string;
}

interface Lexicon {
  /** Quotes, longest first. Strings with those in `across` may contain line ends. */
  readonly quotes: readonly string[];
  readonly across: readonly string[];
  readonly comment: RegExp;
  /** Whether a backslash is an ordinary character inside single quotes. */
  readonly literalSingle?: boolean;
  /** Opening brackets, then closing brackets. */
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

/** Finds the strings, comments and brackets that `text` leaves open, in one pass. */
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

/**
 * Position of the end of a string; undefined if it is open. A string that may not contain a line end stops there: the
 * kernel reports the error.
 */
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
