import stringWidth from 'fast-string-width';
import type { Buffer } from './buffer.ts';

/** The prompts of the first line and of the others. Both have the same width. */
export interface Prompts {
  readonly first: string;
  readonly next: string;
  readonly width: number;
}

export interface Layout {
  /** Text to write, starting at the first column of an empty area. */
  readonly text: string;
  /** Rows and columns, relative to that start, of the end of the text and of the cursor. */
  readonly endRow: number;
  readonly cursorRow: number;
  readonly cursorColumn: number;
}

/** How the text is shown, besides its prompts. */
export interface Looks {
  /** The lines of the text with colours. */
  readonly painted?: readonly string[];
  /** Lines below the text, each narrower than the terminal. */
  readonly below?: readonly string[];
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * Lays out a buffer on a terminal of this size. If it is higher than the terminal, the lines around the cursor are
 * shown.
 */
export function layOut(
  { text, cursor }: Buffer,
  prompts: Prompts,
  size: { columns: number; rows: number },
  { painted, below = [] }: Looks = {},
): Layout {
  const columns = Math.max(size.columns, 1);
  const lines = text.split('\n');
  const cursorLine = text.slice(0, cursor).split('\n').length - 1;
  const cursorAt = cursor - (text.lastIndexOf('\n', cursor - 1) + 1);
  // Measured only for lines that may be shown, because pasted text can be long.
  const heightOf = (index: number) => endOf(lines[index]!, prompts.width, columns).row + 1;
  const [from, to] = visible(lines.length, heightOf, cursorLine, Math.max(size.rows - below.length - 1, 1));
  let written = '';
  let row = 0;
  let found = { row: 0, column: 0 };
  for (let index = from; index < to; index += 1) {
    const line = lines[index]!;
    if (index > from) {
      written += '\r\n';
      row += 1;
    }
    written += (index === 0 ? prompts.first : prompts.next) + (painted?.[index] ?? line);
    const end = endOf(line, prompts.width, columns);
    // A full row leaves the cursor on its last column until more is written. Only a row that typing continues behind
    // needs another row; a line end needs none.
    const isFull = end.column === 0 && end.row > 0;
    const goesOn = index === cursorLine && cursorAt === line.length;
    if (isFull && goesOn) written += ' \r';
    if (index === cursorLine) {
      const place = endOf(line.slice(0, cursorAt), prompts.width, columns);
      found = { row: row + place.row, column: place.column };
    }
    row += isFull && !goesOn ? end.row - 1 : end.row;
  }
  for (const line of below) written += `\r\n${line}`;
  row += below.length;
  return { text: written, endRow: row, cursorRow: found.row, cursorColumn: found.column };
}

/** How a terminal that becomes narrower or wider moves lines that were wrapped. */
export type Reflow = 'all' | 'other-lines' | 'none';

/**
 * The row of the cursor, relative to the first row of the text, after the terminal has got another size: some wrap what
 * is on the screen again, some leave the line with the cursor as it is, some leave everything.
 */
export function rowAfterResize(
  { text, cursor }: Buffer,
  prompts: Prompts,
  { before, after, rows }: { before: number; after: number; rows: number },
  reflow: Reflow,
): number {
  const rowAt = (buffer: Buffer, columns: number) => layOut(buffer, prompts, { columns, rows }).cursorRow;
  if (reflow === 'none') return rowAt({ text, cursor }, before);
  if (reflow === 'all') return rowAt({ text, cursor }, after);
  const start = cursor === 0 ? 0 : text.lastIndexOf('\n', cursor - 1) + 1;
  const earlier = rowAt({ text, cursor: start }, after);
  return earlier + rowAt({ text, cursor }, before) - rowAt({ text, cursor: start }, before);
}

/** Position of the terminal's cursor after `line`, which begins in `column`. */
function endOf(line: string, column: number, columns: number): { row: number; column: number } {
  let at = column;
  let row = 0;
  for (const { segment } of graphemes.segment(line)) {
    const width = stringWidth(segment);
    // A wide character that does not fit moves to the next row.
    if (at + width > columns) {
      row += 1;
      at = 0;
    }
    at += width;
  }
  row += Math.floor(at / columns);
  return { row, column: at % columns };
}

/** The range of lines to show: all if they fit, otherwise as many around the cursor's line as fit. */
function visible(count: number, heightOf: (index: number) => number, line: number, rows: number): [number, number] {
  let from = line;
  let to = line + 1;
  let left = rows - heightOf(line);
  while (from > 0 && heightOf(from - 1) <= left) left -= heightOf(--from);
  while (to < count && heightOf(to) <= left) left -= heightOf(to++);
  return [from, to];
}
