/** Text that is being typed, of one or more lines, and the cursor in it. Pure: each function returns a new buffer. */
export interface Buffer {
  readonly text: string;
  readonly cursor: number;
}

export const EMPTY: Buffer = { text: '', cursor: 0 };

const INDENT = 4;
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

export function insert({ text, cursor }: Buffer, piece: string): Buffer {
  return { text: text.slice(0, cursor) + piece + text.slice(cursor), cursor: cursor + piece.length };
}

export function atEnd(text: string): Buffer {
  return { text, cursor: text.length };
}

/** Replaces the text between `from` and the cursor by `piece`, for a completion. */
export function replaceBefore({ text, cursor }: Buffer, from: number, piece: string): Buffer {
  return { text: text.slice(0, from) + piece + text.slice(cursor), cursor: from + piece.length };
}

/** Deletes the character before the cursor, or a whole step of indentation. */
export function backspace(buffer: Buffer): Buffer {
  const before = lineBefore(buffer);
  if (before !== '' && /^ +$/.test(before)) return cut(buffer, buffer.cursor - (((before.length - 1) % INDENT) + 1));
  return cut(buffer, left(buffer).cursor);
}

export function deleteForward(buffer: Buffer): Buffer {
  return cut(buffer, right(buffer).cursor);
}

export function left({ text, cursor }: Buffer): Buffer {
  const last = [...graphemes.segment(text.slice(lineStart(text, cursor - 1), cursor))].at(-1);
  return { text, cursor: cursor - (last?.segment.length ?? Math.min(cursor, 1)) };
}

export function right({ text, cursor }: Buffer): Buffer {
  const [next] = graphemes.segment(text.slice(cursor, lineEnd(text, cursor + 1)));
  return { text, cursor: cursor + (next?.segment.length ?? 0) };
}

export function wordLeft({ text, cursor }: Buffer): Buffer {
  const words = text.slice(0, cursor).matchAll(/[\p{L}\p{N}_]+/gu);
  return { text, cursor: [...words].at(-1)?.index ?? 0 };
}

export function wordRight({ text, cursor }: Buffer): Buffer {
  const found = text.slice(cursor).match(/^[^\p{L}\p{N}_]*[\p{L}\p{N}_]+/u);
  return { text, cursor: found === null ? text.length : cursor + found[0].length };
}

export function home({ text, cursor }: Buffer): Buffer {
  return { text, cursor: lineStart(text, cursor) };
}

export function end({ text, cursor }: Buffer): Buffer {
  return { text, cursor: lineEnd(text, cursor) };
}

/** Moves to the line above, in the same column; undefined on the first line. */
export function up({ text, cursor }: Buffer): Buffer | undefined {
  const start = lineStart(text, cursor);
  if (start === 0) return undefined;
  const above = lineStart(text, start - 1);
  return { text, cursor: Math.min(above + cursor - start, start - 1) };
}

/** Moves to the line below, in the same column; undefined on the last line. */
export function down({ text, cursor }: Buffer): Buffer | undefined {
  const next = lineEnd(text, cursor) + 1;
  if (next > text.length) return undefined;
  return { text, cursor: Math.min(next + cursor - lineStart(text, cursor), lineEnd(text, next)) };
}

/** Deletes from the cursor to `to`, in either direction. */
export function cut({ text, cursor }: Buffer, to: number): Buffer {
  const [from, until] = to < cursor ? [to, cursor] : [cursor, to];
  return { text: text.slice(0, from) + text.slice(until), cursor: from };
}

/** The text before the cursor on its line. */
export function lineBefore({ text, cursor }: Buffer): string {
  return text.slice(lineStart(text, cursor), cursor);
}

function lineStart(text: string, at: number): number {
  return at <= 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
}

function lineEnd(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  return found === -1 ? text.length : found;
}
