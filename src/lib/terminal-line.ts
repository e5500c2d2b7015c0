/** A line of text that can be written over at any column, where a column is a code point. Every operation costs no more than the text it is given. */
export interface TerminalLine {
  length(): number;
  /** Returns the column after the text. */
  write(column: number, text: string): number;
  /** Cuts the line off at `column`. */
  cut(column: number): void;
  /** Blanks the columns before `end`. */
  blank(end: number): void;
  text(): string;
}

/** The text stays a string while it grows at its end or is replaced; the first change in the middle turns it into cells, once. */
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
      if (cells === undefined && column === begin) whole += text;
      else if (cells === undefined && column === 0 && count >= begin) whole = text;
      else {
        cells ??= createCells(whole);
        if (begin < column) cells.write(begin, ' '.repeat(column - begin));
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
    text: () => cells?.text(length) ?? whole,
  };
}

interface Cells {
  write(column: number, text: string): void;
  blank(end: number): void;
  /** The first `length` cells. Cells behind them may hold text that was cut off. */
  text(length: number): string;
}

/**
 * Each cell knows how many blankings came before it was written. A blanking is only recorded, so that one of a long line costs as little as one of a short
 * line: a cell is blank where the last blanking that covers it came after it was written.
 */
function createCells(initial: string): Cells {
  const characters = [...initial];
  const writtenAfter: number[] = characters.map(() => 0);
  /** Later blankings are shorter: one that covers an earlier one replaces it. */
  const blankings: { end: number; number: number }[] = [];
  let blanked = 0;

  return {
    write(column, text) {
      let at = column;
      for (const character of text) {
        characters[at] = character;
        writtenAfter[at] = blanked;
        at += 1;
      }
    },
    blank(end) {
      blanked += 1;
      while ((blankings.at(-1)?.end ?? Number.POSITIVE_INFINITY) <= end) blankings.pop();
      blankings.push({ end, number: blanked });
    },
    text(length) {
      const shown = characters.slice(0, length);
      let from = 0;
      for (const { end, number } of blankings.toReversed()) {
        for (let at = from; at < Math.min(end, length); at += 1) {
          if ((writtenAfter[at] as number) < number) shown[at] = ' ';
        }
        from = end;
      }
      return shown.join('');
    },
  };
}

function countOf(text: string): number {
  if (!/[\ud800-\udbff]/.test(text)) return text.length;
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
