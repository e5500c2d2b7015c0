import type { Colour, Paint } from '../../print.ts';

/** Longer text is shown plain: it is painted again at every key. */
const MOST_CHARS = 50_000;

/**
 * The lines of a text with keywords, strings, numbers and comments in colour. A few regular expressions, not a parser:
 * each token is matched where the last one ended, so the time is linear in the text.
 */
export function highlighted(text: string, language: string, paint: Paint): string[] {
  const rules = RULES[language];
  if (rules === undefined || text.length > MOST_CHARS) return text.split('\n');
  const lines = [''];
  for (const [piece = ''] of text.matchAll(rules.tokens)) {
    const colour = colourOf(piece, rules);
    piece.split('\n').forEach((part, index) => {
      if (index > 0) lines.push('');
      lines[lines.length - 1] += colour === undefined || part === '' ? part : paint(colour, part);
    });
  }
  return lines;
}

interface Rules {
  /** Matches everything, one token after another. */
  readonly tokens: RegExp;
  readonly keywords: ReadonlySet<string>;
  readonly comment: RegExp;
}

function colourOf(piece: string, { keywords, comment }: Rules): Colour | undefined {
  if (comment.test(piece)) return 'dim';
  if (/^[a-z]{0,2}["'`]/i.test(piece)) return 'yellow';
  if (/^\d/.test(piece)) return 'cyan';
  return keywords.has(piece) ? 'magenta' : undefined;
}

const words = (text: string) => new Set(text.split(' '));
const NAME = String.raw`[\p{L}_$][\p{L}\p{N}_$]*`;
const NUMBER = String.raw`\d[\w.]*`;
/** A string may be open at the end of what is typed. */
const LINE_STRINGS = String.raw`"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\[\s\S])*'?`;
const tokensOf = (...kinds: readonly string[]) =>
  new RegExp([...kinds, NUMBER, NAME, String.raw`[\s\S]`].join('|'), 'gu');

const JAVASCRIPT: Rules = {
  tokens: tokensOf(
    String.raw`\/\/[^\n]*`,
    String.raw`\/\*[\s\S]*?(?:\*\/|$)`,
    LINE_STRINGS,
    '`(?:[^`\\\\]|\\\\[\\s\\S])*`?',
  ),
  keywords: words(
    'async await break case catch class const continue debugger default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null of return static super switch this throw true try type typeof undefined var void while with yield',
  ),
  comment: /^\/[/*]/,
};
const BASH: Rules = {
  tokens: tokensOf(String.raw`(?<![^\s;&|(])#[^\n]*`, String.raw`"(?:[^"\\]|\\[\s\S])*"?`, "'[^']*'?"),
  keywords: words(
    'case do done elif else esac exit export fi for function if in local return select then until while declare readonly source unset',
  ),
  comment: /^#./, // not the # of $#
};

const RULES: Readonly<Record<string, Rules>> = {
  python: {
    tokens: tokensOf(
      '#[^\\n]*',
      String.raw`(?:[rbuf]|[rbf]{2})?(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|${LINE_STRINGS})`,
    ),
    keywords: words(
      'False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield',
    ),
    comment: /^#/,
  },
  javascript: JAVASCRIPT,
  typescript: JAVASCRIPT,
  bash: BASH,
  sh: BASH,
};
