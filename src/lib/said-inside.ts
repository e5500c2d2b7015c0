import { visibleJson } from './visible-json.ts';

const MOST_CHARS = 500;

/**
 * Words that come out of a sandbox, for a sentence of ours: `the sandbox said "…"`, in one line. SECURITY: a guest can say anything. Without quotation marks
 * a model, or a person, would take its words for Hotcell's.
 */
export function saidInside(words: string): string {
  return `the sandbox said ${quoted(words)}`;
}

/** The same for the words of a server that this machine is the client of. */
export function saidByServer(words: string): string {
  return `the server says: ${quoted(words)}`;
}

function quoted(words: string): string {
  const text = words.trim();
  const shown = text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…` : text;
  return visibleJson(JSON.stringify(shown.toWellFormed()));
}

/**
 * A name from inside as part of a sentence of ours: in quotation marks unless it is one plain word. SECURITY: `a.csv (created, 9 bytes) http:∕∕…` is a name
 * that a file can have; its spaces and signs would read as ours.
 */
export function quotedName(name: string): string {
  const isPlain = /^[\p{L}\p{M}\p{N}_./@+-]+$/u.test(name) && !/\p{Default_Ignorable_Code_Point}/u.test(name);
  return isPlain ? name : visibleJson(JSON.stringify(name.toWellFormed()));
}

/** Words from inside as part of a line: in quotation marks where they would not stay in it. */
export function inOneLine(name: string): string {
  return BREAKS_LINE.test(name) ? visibleJson(JSON.stringify(name)) : name;
}

const BREAKS_LINE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
