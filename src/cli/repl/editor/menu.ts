import stringWidth from 'fast-string-width';
import { type Buffer, replaceBefore } from './buffer.ts';
import type { Completion } from './completion.ts';

/** A menu of completions below the text. Nothing is chosen at first. Pure: each function returns a new menu. */
export interface Menu extends Completion {
  /** The text from before the menu. */
  readonly draft: Buffer;
  readonly chosen: number | undefined;
}

export function openMenu(draft: Buffer, { from, matches }: Completion): Menu {
  return { draft, from, matches, chosen: undefined };
}

/** Chooses another candidate; beyond the last comes the first. */
export function moveInMenu(menu: Menu, by: 1 | -1): Menu {
  const { length } = menu.matches;
  if (menu.chosen === undefined) return { ...menu, chosen: by === 1 ? 0 : length - 1 };
  return { ...menu, chosen: (menu.chosen + by + length) % length };
}

/** The text with the chosen candidate. */
export function chosenIn({ draft, from, matches, chosen }: Menu): Buffer {
  return chosen === undefined ? draft : replaceBefore(draft, from, matches[chosen]!);
}

/** The candidates in columns, read downwards as with `ls`; of many, the rows around the chosen one. */
export function menuLines(
  { matches, chosen }: Menu,
  size: { columns: number; rows: number },
  mark: (text: string) => string,
): string[] {
  const widest = Math.max(...matches.map((name) => stringWidth(name))) + 2;
  const columns = Math.max(1, Math.floor((size.columns - 1) / widest));
  const rows = Math.ceil(matches.length / columns);
  const cell = (index: number) => {
    const name = matches[index];
    if (name === undefined) return '';
    const shown = cutTo(name, size.columns - 1);
    return (index === chosen ? mark(shown) : shown) + ' '.repeat(Math.max(widest - stringWidth(name), 0));
  };
  const line = (row: number) => Array.from({ length: columns }, (_, column) => cell(column * rows + row)).join('');
  const most = Math.max(Math.min(size.rows, rows), 1);
  const top = Math.min(Math.max(((chosen ?? 0) % rows) - most + 1, 0), rows - most);
  const lines = Array.from({ length: most }, (_, index) => line(top + index).trimEnd());
  return rows > most ? [...lines, `… ${matches.length} in all`] : lines;
}

function cutTo(name: string, width: number): string {
  return stringWidth(name) <= width ? name : `${name.slice(0, Math.max(Math.floor(width / 2) - 1, 1))}…`;
}
