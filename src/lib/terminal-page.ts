import { createTerminalLine, type TerminalLine } from './terminal-line.ts';
import { createTerminalScanner } from './terminal-scanner.ts';
import { wholeCharacters } from './whole-characters.ts';

/** The last lines of an output with a cursor, as on a terminal of unlimited width. */
export interface TerminalPage {
  push(bytes: Buffer): void;
  /**
   * Whether the cursor is at the end of the text and no sequence is incomplete, so that text can simply be appended.
   */
  isAtEnd(): boolean;
  /** Whether the page must give up lines, or be closed. */
  isLarge(): boolean;
  /** Removes the lines above the cursor and returns them, each with its line break. */
  takeAbove(): string;
  text(): string;
  /** The last `columns` of the text, or more than that by less than a line. Costs no more than they do. */
  tail(columns: number): string;
  /** Bytes that were pushed and are not in the text yet: an incomplete character or sequence. */
  unread(): Buffer;
}

const MAX_LINES = 500;
/** The maximum number of characters of a page. A longer line is not taken back into a page. */
export const MAX_PAGE_CHARS = 65_536;
/**
 * The maximum distance of the cursor from the end of a line. SECURITY: a short sequence must not produce many spaces.
 */
const MAX_GAP_CHARS = 200;

export interface PageSources {
  /** Returns the line above the first one, when the cursor moves there; undefined if there is none. */
  lineAbove(): string | undefined;
  /**
   * Requests spaces between the end of a line and the cursor, before text is written there. If it returns false, the
   * text is appended to the line.
   */
  takeGap(chars: number): boolean;
}

export function createTerminalPage({ lineAbove, takeGap }: PageSources): TerminalPage {
  const lines: TerminalLine[] = [createTerminalLine()];
  let undecoded: Buffer = Buffer.alloc(0);
  let row = 0;
  let column = 0;

  const line = () => lines[row] as TerminalLine;
  const scanner = createTerminalScanner({
    text(text) {
      const end = line().length();
      if (column > end && !takeGap(column - end)) column = end;
      column = line().write(column, text);
    },
    control(character) {
      if (character === '\b') column = Math.max(0, column - 1);
      else column = 0;
      if (character === '\n') newLine();
    },
    sequence,
  });

  function sequence(parameters: string, final: string): void {
    const number = Number.parseInt(parameters, 10) || 0;
    const count = Math.max(1, number);
    switch (final) {
      case 'A':
        return up(count);
      case 'B':
        return down(count);
      case 'C':
        return moveTo(column + count);
      case 'D':
        return moveTo(column - count);
      case 'E':
        column = 0;
        return down(count);
      case 'F':
        column = 0;
        return up(count);
      case 'G':
        return moveTo(count - 1);
      case 'J':
        if (number === 0) lines.length = row + 1;
        return number === 0 ? line().cut(column) : undefined;
      case 'K':
        return erase(number);
    }
  }

  function moveTo(wanted: number): void {
    column = Math.max(0, Math.min(wanted, line().length() + MAX_GAP_CHARS));
  }

  function erase(what: number): void {
    if (what === 1) line().blank(column + 1);
    else line().cut(what === 2 ? 0 : column);
  }

  function up(count: number): void {
    const within = Math.min(count, row);
    row -= within;
    for (let missing = count - within; missing > 0 && lines.length < MAX_LINES; missing -= 1) {
      const above = lineAbove();
      if (above === undefined) return;
      lines.unshift(createTerminalLine());
      line().write(0, above);
    }
  }

  /** As on a terminal, a sequence does not move below the last line; only `\n` adds a line. */
  function down(count: number): void {
    row = Math.min(row + count, lines.length - 1);
  }

  function newLine(): void {
    row += 1;
    if (row === lines.length) lines.push(createTerminalLine());
  }

  return {
    push(bytes) {
      const all = undecoded.length === 0 ? bytes : Buffer.concat([undecoded, bytes]);
      const whole = wholeCharacters(all);
      undecoded = Buffer.from(all.subarray(whole));
      scanner.push(all.toString('utf8', 0, whole));
    },
    isAtEnd: () =>
      row === lines.length - 1 && column === line().length() && undecoded.length === 0 && scanner.unread() === '',
    isLarge: () =>
      lines.length > MAX_LINES || lines.reduce((size, { length }) => size + length() + 1, 0) > MAX_PAGE_CHARS,
    takeAbove() {
      const above = lines.splice(0, row);
      row = 0;
      return above.map((taken) => `${taken.text()}\n`).join('');
    },
    text: () => lines.map((shown) => shown.text()).join('\n'),
    tail(columns) {
      const shown: string[] = [];
      let left = columns;
      for (let at = lines.length - 1; at >= 0 && left > 0; at -= 1) {
        const last = lines[at] as TerminalLine;
        shown.unshift(last.text(Math.max(0, last.length() - left)));
        left -= last.length() + 1;
      }
      return shown.join('\n');
    },
    unread: () => Buffer.concat([Buffer.from(scanner.unread()), undecoded]),
  };
}
