import { visibleJson } from './visible-json.ts';

const MOST_CHARS = 500;

/**
 * Quotes text from a sandbox for a message of ours: `the sandbox said "…"`, in one line. SECURITY: a guest can send any
 * text. Without quotation marks a model, or a person, would take it for a message of Hotcell.
 */
export function saidInside(words: string): string {
  return `the sandbox said ${quoted(words)}`;
}

/** Like `saidInside`, for text from a server whose client this process is. */
export function saidByServer(words: string): string {
  return `the server says: ${quoted(words)}`;
}

/** Text from a sandbox or a server in quotation marks, in one line and cut after `mostChars`. */
export function quoted(words: string, mostChars = MOST_CHARS): string {
  const text = words.trim();
  const shown = text.length > mostChars ? `${text.slice(0, mostChars)}…` : text;
  return visibleJson(JSON.stringify(shown.toWellFormed()));
}

/**
 * A name from the sandbox as part of our sentence: quoted unless it is one plain word. SECURITY: a file can be named
 * `a.csv (created, 9 bytes) http:∕∕…`; unquoted, the rest would read as our text.
 */
export function quotedName(name: string): string {
  const isPlain = /^[\p{L}\p{M}\p{N}_./@+-]+$/u.test(name) && !/\p{Default_Ignorable_Code_Point}/u.test(name);
  return isPlain ? name : visibleJson(JSON.stringify(name.toWellFormed()));
}

/** Text from the sandbox as part of a line: quoted if it would break the line. */
export function inOneLine(name: string): string {
  return BREAKS_LINE.test(name) ? visibleJson(JSON.stringify(name)) : name;
}

const BREAKS_LINE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
