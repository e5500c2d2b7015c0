import type { Buffer } from './buffer.ts';

/** The rest of the newest history entry that begins with the text, while the cursor is at its end. */
export function suggestionFor({ text, cursor }: Buffer, entries: readonly string[]): string {
  if (text.trim() === '' || cursor !== text.length) return '';
  const found = entries.findLast((entry) => entry.length > text.length && entry.startsWith(text));
  return found?.slice(text.length) ?? '';
}

/** A suggestion as it is shown: its first line, and a mark if there are more. */
export function shownSuggestion(rest: string): string {
  const [first = '', ...more] = rest.split('\n');
  return more.length === 0 ? first : `${first} …`;
}
