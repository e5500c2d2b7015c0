import stringWidth from 'fast-string-width';

/** Candidates for the text from `from` to the cursor. */
export interface Completion {
  readonly from: number;
  readonly matches: readonly string[];
}

const MOST_SHOWN = 100;

/** The common prefix of all candidates. */
export function commonStart(matches: readonly string[]): string {
  const [first = '', ...others] = matches;
  let length = first.length;
  for (const other of others) {
    while (!other.startsWith(first.slice(0, length))) length -= 1;
  }
  // A prefix must not end with half of a surrogate pair.
  return first.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

/** Names in columns, sorted downwards as `ls` does. */
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
