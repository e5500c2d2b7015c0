import stringWidth from 'fast-string-width';

/** What could stand in place of the text from `from` to the cursor. */
export interface Completion {
  readonly from: number;
  readonly matches: readonly string[];
}

const MOST_SHOWN = 100;

/** What all of them begin with. */
export function commonStart(matches: readonly string[]): string {
  const [first = '', ...others] = matches;
  let length = first.length;
  for (const other of others) {
    while (!other.startsWith(first.slice(0, length))) length -= 1;
  }
  // Half of a character that takes two places is none.
  return first.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

/** Names in columns, read downwards, as `ls` has them. */
export function columnsOf(names: readonly string[], width: number): string {
  const shown = names.slice(0, MOST_SHOWN);
  const widest = Math.max(...shown.map((name) => stringWidth(name))) + 2;
  const columns = Math.max(1, Math.floor(width / widest));
  const rows = Math.ceil(shown.length / columns);
  const lines = Array.from({ length: rows }, (_, row) =>
    shown
      .filter((__, index) => index % rows === row)
      .map((name) => name + ' '.repeat(widest - stringWidth(name)))
      .join('')
      .trimEnd(),
  );
  const rest = names.length - shown.length;
  return [...lines, ...(rest === 0 ? [] : [`… and ${rest} more`])].join('\r\n');
}
