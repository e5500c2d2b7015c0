/** Candidates for the text from `from` to the cursor. */
export interface Completion {
  readonly from: number;
  readonly matches: readonly string[];
}

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
