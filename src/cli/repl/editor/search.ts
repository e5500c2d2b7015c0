import type { Buffer } from './buffer.ts';
import { atEnd } from './buffer.ts';

/** An incremental search backwards through the history (Ctrl-R). Pure: each function returns a new search. */
export interface Search {
  /** The text from before the search, which cancelling restores. */
  readonly draft: Buffer;
  readonly entries: readonly string[];
  readonly query: string;
  /** Index of the entry that is shown; the number of entries before one was found. */
  readonly at: number;
  readonly hasFailed: boolean;
}

export function beginSearch(draft: Buffer, entries: readonly string[]): Search {
  return { draft, entries, query: '', at: entries.length, hasFailed: false };
}

/** Searches for another text, from the entry that is shown; from the newest if the text became shorter. */
export function searchFor(search: Search, query: string): Search {
  if (query === '') return { ...search, query, at: search.entries.length, hasFailed: false };
  const from = query.startsWith(search.query) && search.query !== '' ? search.at : search.entries.length - 1;
  return moved({ ...search, query }, from);
}

/** The next older entry with the text that differs from the one that is shown. */
export function searchFurther(search: Search): Search {
  if (search.query === '') return search;
  const shown = search.entries[search.at];
  let from = search.at - 1;
  while (from >= 0 && search.entries[from] === shown) from -= 1;
  return moved(search, from);
}

/** The entry that is shown, with the cursor at the text that was found. */
export function foundBy({ entries, at, query, draft }: Search): Buffer {
  const entry = entries[at];
  return entry === undefined ? draft : { ...atEnd(entry), cursor: Math.max(entry.lastIndexOf(query), 0) };
}

function moved(search: Search, from: number): Search {
  for (let at = Math.min(from, search.entries.length - 1); at >= 0; at -= 1) {
    if (search.entries[at]!.includes(search.query)) return { ...search, at, hasFailed: false };
  }
  return { ...search, hasFailed: true };
}
