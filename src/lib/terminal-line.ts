/** A line of text that can be written over at any column, where a column is a code point. */
export interface TerminalLine {
  length(): number;
  /** Answers with the column after the text. */
  write(column: number, text: string): number;
  /** Cuts it off at `column`. */
  cut(column: number): void;
  text(): string;
}

/** What is written whole stays a string; what is changed in the middle becomes cells, so that a flood of small changes costs no more than itself. */
export function createTerminalLine(): TerminalLine {
  let whole = '';
  let cells: string[] | undefined;
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
        cells ??= [...whole];
        for (let gap = begin; gap < column; gap += 1) cells[gap] = ' ';
        let at = column;
        for (const character of text) cells[at++] = character;
      }
      return column + count;
    },
    cut(column) {
      if (column >= length) return;
      length = column;
      if (cells === undefined) whole = [...whole].slice(0, column).join('');
      else cells.length = column;
    },
    text: () => cells?.join('') ?? whole,
  };
}

function countOf(text: string): number {
  if (!/[\ud800-\udbff]/.test(text)) return text.length;
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
