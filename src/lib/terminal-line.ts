/**
 * A line of text that can be overwritten at any column; a column is a code point. The cost of an operation is linear in
 * the text it is given.
 */
export interface TerminalLine {
  length(): number;
  /** Returns the column after the text. */
  write(column: number, text: string): number;
  /** Cuts the line off at `column`. */
  cut(column: number): void;
  /** Blanks the columns before `end`. */
  blank(end: number): void;
  /** The text from a column on. */
  text(from?: number): string;
}

/**
 * The text is a string while it grows at its end or is replaced. The first change in the middle converts it to cells,
 * once.
 */
export function createTerminalLine(): TerminalLine {
  let whole = '';
  let cells: Cells | undefined;
  let length = 0;

  return {
    length: () => length,
    write(column, text) {
      const count = countOf(text);
      const begin = length;
      length = Math.max(length, column + count);
      if (cells === undefined && column >= begin) whole += ' '.repeat(column - begin) + text;
      else if (cells === undefined && column === 0 && count >= begin) whole = text;
      else {
        cells ??= createCells(whole);
        cells.fill(begin, column);
        cells.write(column, text);
      }
      return column + count;
    },
    cut(column) {
      if (column >= length) return;
      length = column;
      whole = column === 0 ? '' : whole;
      cells = column === 0 ? undefined : (cells ?? createCells(whole));
    },
    blank(end) {
      const count = Math.min(end, length);
      if (count === 0) return;
      cells ??= createCells(whole);
      cells.blank(count);
    },
    text: (from = 0) => cells?.text(length, from) ?? (from === 0 ? whole : lastOf(whole, length - from)),
  };
}

interface Cells {
  write(column: number, text: string): void;
  /** Writes spaces into the columns from `from` to `to`. */
  fill(from: number, to: number): void;
  blank(end: number): void;
  /** The cells from `from` to `length`. Cells behind them may hold text that was cut off. */
  text(length: number, from: number): string;
}

const SPACE = 0x20;
const FEWEST_CELLS = 16;

/**
 * The cells of a line, each with the number of erasures before it was written. An erasure is only recorded, so that its
 * cost does not depend on the length of the line: a cell is blank if the last erasure that covers it came after it was
 * written. SECURITY: cells are numbers in typed arrays, because seven bytes that move the cursor to the right create
 * two hundred of them.
 */
function createCells(initial: string): Cells {
  let codePoints = new Uint32Array(Math.max(FEWEST_CELLS, initial.length));
  let writtenAfter = new Uint32Array(codePoints.length);
  /** Erasures, each shorter than the one before: a new one replaces those that it covers. */
  const blankings: { end: number; number: number }[] = [];
  let blanked = 0;

  function reserve(count: number): void {
    if (count <= codePoints.length) return;
    codePoints = grown(codePoints, 2 * count);
    writtenAfter = grown(writtenAfter, 2 * count);
  }

  function write(column: number, text: string): void {
    reserve(column + text.length);
    let at = column;
    for (let index = 0; index < text.length; index += 1) {
      const codePoint = text.codePointAt(index) as number;
      if (codePoint > 0xffff) index += 1;
      codePoints[at] = codePoint;
      writtenAfter[at] = blanked;
      at += 1;
    }
  }

  write(0, initial);
  return {
    write,
    fill(from, to) {
      if (from >= to) return;
      reserve(to);
      codePoints.fill(SPACE, from, to);
      writtenAfter.fill(blanked, from, to);
    },
    blank(end) {
      blanked += 1;
      while ((blankings.at(-1)?.end ?? Number.POSITIVE_INFINITY) <= end) blankings.pop();
      blankings.push({ end, number: blanked });
    },
    text(length, from) {
      const shown = codePoints.slice(from, length);
      let begin = from;
      for (const { end, number } of blankings.toReversed()) {
        for (let at = begin; at < Math.min(end, length); at += 1) {
          if ((writtenAfter[at] as number) < number) shown[at - from] = SPACE;
        }
        begin = Math.max(begin, end);
      }
      return textOf(shown);
    },
  };
}

function grown(cells: Uint32Array, count: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(count);
  larger.set(cells);
  return larger;
}

function textOf(codePoints: Uint32Array): string {
  const units = Buffer.allocUnsafe(4 * codePoints.length);
  let end = 0;
  for (const codePoint of codePoints) {
    if (codePoint > 0xffff) {
      end = units.writeUInt16LE(0xd800 + ((codePoint - 0x10000) >> 10), end);
      end = units.writeUInt16LE(0xdc00 + (codePoint & 0x3ff), end);
    } else {
      units[end] = codePoint & 0xff;
      units[end + 1] = codePoint >> 8;
      end += 2;
    }
  }
  return units.toString('utf16le', 0, end);
}

/** The last `count` code points. */
function lastOf(text: string, count: number): string {
  let begin = text.length;
  for (let left = count; left > 0 && begin > 0; left -= 1) {
    const code = text.charCodeAt(begin - 1);
    begin -= code >= 0xdc00 && code <= 0xdfff && begin > 1 ? 2 : 1;
  }
  return text.slice(begin);
}

function countOf(text: string): number {
  if (!/[\ud800-\udbff]/.test(text)) return text.length;
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
