import { HotcellError } from '../../errors/hotcell-error.ts';

/**
 * A glob pattern with `*`, `?`, `[a-z]`, `[!a-z]`, `**` and `\\` as escape. Wildcards match no leading dot. The pattern
 * is matched name by name down a tree, so that a folder is compared once and not once for each file below it.
 *
 * SECURITY: the caller chooses the pattern. A regular expression made from it can take hours for one name
 * (`*a*a*a*a*b`, `+([a-z]|[a-z][a-z])!`) and cannot be stopped; matching here takes at most the product of both
 * lengths.
 */
export interface Glob {
  readonly start: Reached;
  /** The state after entering a folder. Undefined if nothing below it can match. */
  enter(reached: Reached, name: string): Reached | undefined;
  /** Whether a file with this name matches in the folder. */
  matches(reached: Reached, name: string): boolean;
}

/** State of the match: for each number of parts of the pattern, whether the names so far match that many. */
export type Reached = readonly boolean[];

export function compileGlob(pattern: string): Glob {
  if (pattern.length > MOST_CHARS) throw refusal(`longer than ${MOST_CHARS} characters`);
  const parts: Part[] = pattern.split('/').map((part) => (part === '**' ? ANY_FOLDERS : parseName(part)));
  // Only files match, so a trailing `**` needs at least one name.
  if (parts.at(-1) === ANY_FOLDERS) parts.push([STAR]);
  const next = (reached: Reached, name: string) => step(parts, reached, name);
  return {
    start: withEmptyFolders(parts, [true, ...parts.map(() => false)]),
    enter: (reached, name) => {
      const after = next(reached, name);
      // If all parts are used up, a file may match but nothing below a folder.
      return after.slice(0, -1).includes(true) ? after : undefined;
    },
    matches: (reached, name) => next(reached, name).at(-1) === true,
  };
}

/** Whether a whole path matches. */
export function globMatches({ start, enter, matches }: Glob, path: string): boolean {
  const names = path.split('/');
  let reached: Reached | undefined = start;
  for (const name of names.slice(0, -1)) {
    if (reached === undefined) return false;
    reached = enter(reached, name);
  }
  return reached !== undefined && matches(reached, names.at(-1) as string);
}

const MOST_CHARS = 512;
const ANY_FOLDERS = 'any folders';
const STAR = 'any characters';

/** The condition for one character of a name. */
type Single = { readonly isNot: boolean; readonly ranges: readonly (readonly [low: string, high: string])[] };
type Name = readonly (Single | typeof STAR)[];
type Part = Name | typeof ANY_FOLDERS;

const ANY: Single = { isNot: true, ranges: [] };
const exactly = (char: string): Single => ({ isNot: false, ranges: [[char, char]] });

function step(parts: readonly Part[], reached: Reached, name: string): Reached {
  const next = [false, ...parts.map(() => false)];
  for (const [index, part] of parts.entries()) {
    if (reached[index] !== true) continue;
    if (part === ANY_FOLDERS) next[index] = !name.startsWith('.');
    else if (matchesName(part, name)) next[index + 1] = true;
  }
  return withEmptyFolders(parts, next);
}

/** Lets `**` match zero folders. */
function withEmptyFolders(parts: readonly Part[], reached: boolean[]): Reached {
  for (const [index, part] of parts.entries()) {
    if (part === ANY_FOLDERS && reached[index] === true) reached[index + 1] = true;
  }
  return reached;
}

/** Greedy matching with one backtracking point: the last star, which then takes one more character. */
function matchesName(name: Name, text: string): boolean {
  const chars = [...text];
  if (chars[0] === '.' && !isLiteralDot(name[0])) return false;
  let at = 0;
  let star = -1;
  let afterStar = 0;
  for (let index = 0; index < chars.length; ) {
    const wanted = name[at];
    if (wanted === STAR) {
      star = at;
      afterStar = index;
      at += 1;
    } else if (wanted !== undefined && fits(wanted, chars[index] as string)) {
      at += 1;
      index += 1;
    } else if (star !== -1) {
      afterStar += 1;
      index = afterStar;
      at = star + 1;
    } else return false;
  }
  while (name[at] === STAR) at += 1;
  return at === name.length;
}

function isLiteralDot(first: Name[number] | undefined): boolean {
  return typeof first === 'object' && !first.isNot && first.ranges.length === 1 && first.ranges[0]?.join('') === '..';
}

function fits({ isNot, ranges }: Single, char: string): boolean {
  return ranges.some(([low, high]) => low <= char && char <= high) !== isNot;
}

function parseName(part: string): Name {
  const chars = [...part];
  const name: (Single | typeof STAR)[] = [];
  for (let index = 0; index < chars.length; index += 1) {
    const char = chars[index] as string;
    if ('{}'.includes(char)) throw refusal(`${char} is not supported`);
    if (chars[index + 1] === '(' && '?*+@!'.includes(char)) throw refusal(`${char}(…) is not supported`);
    if (char === '!' && index === 0) throw refusal('! at the beginning is not supported');
    if (char === '\\') {
      index += 1;
      if (chars[index] === undefined) throw refusal('nothing follows the last \\');
      name.push(exactly(chars[index] as string));
    } else if (char === '[') {
      const end = endOfClass(chars, index);
      name.push(parseClass(chars.slice(index + 1, end)));
      index = end;
    } else if (char !== '*') name.push(char === '?' ? ANY : exactly(char));
    else if (name.at(-1) !== STAR) name.push(STAR);
  }
  return name;
}

/** Finds the end of a character class. A bracket that comes first in it is literal. */
function endOfClass(chars: readonly string[], start: number): number {
  const first = start + ('!^'.includes(chars[start + 1] ?? ' ') ? 2 : 1);
  const end = chars.indexOf(']', first + 1);
  if (end === -1) throw refusal('a [ is not closed; write [[] for the character itself');
  return end;
}

function parseClass(chars: readonly string[]): Single {
  const isNot = '!^'.includes(chars[0] ?? ' ');
  const ranges: [string, string][] = [];
  for (let index = isNot ? 1 : 0; index < chars.length; index += 1) {
    const low = chars[index] as string;
    const high = chars[index + 1] === '-' ? chars[index + 2] : undefined;
    if (low === '[' && ':.='.includes(chars[index + 1] ?? ' ')) throw refusal('named classes are not supported');
    if (low === '\\') throw refusal('\\ within [ ] is not supported');
    if (high !== undefined && high < low) throw refusal(`${low}-${high} is the wrong way round`);
    ranges.push([low, high ?? low]);
    if (high !== undefined) index += 2;
  }
  return { isNot, ranges };
}

function refusal(reason: string): HotcellError {
  return new HotcellError('invalid_argument', `source: invalid pattern: ${reason}`, {
    remedy: 'Use *, ?, [a-z], [!a-z] and **, and call once for each of several patterns.',
  });
}
