import type { Key } from 'node:readline';
import stringWidth from 'fast-string-width';
import type { Paint } from '../../print.ts';
import { atEnd, left } from './buffer.ts';
import type { Prompts } from './layout.ts';
import { type Search, searchFor } from './search.ts';

/**
 * What a key does in a search, as in every shell: a new search, the next older entry, running what was found, taking it
 * for editing, with the key itself or without, or leaving it.
 */
export type SearchStep = Search | 'further' | 'run' | 'take' | 'take-and-press' | 'cancel';

export function keyInSearch(search: Search, text: string, { name, ctrl, meta }: Key): SearchStep {
  if (name === 'escape') return 'take';
  if (ctrl && name === 'r') return 'further';
  if (ctrl && name === 'g') return 'cancel';
  if (!meta && (name === 'backspace' || (ctrl && name === 'h'))) {
    return searchFor(search, search.query.slice(0, left(atEnd(search.query)).cursor));
  }
  if (ctrl || meta) return 'take-and-press';
  if (name === 'return' || name === 'enter') return 'run';
  const isTyped = text !== '' && !/[\x00-\x1f\x7f-\x9f]/.test(text);
  return isTyped ? searchFor(search, search.query + text) : 'take-and-press';
}

const MOST_SHOWN = 20;

/** The prompts during a search. They fit a narrow terminal too. */
export function searchPrompts({ query, hasFailed }: Search, columns: number, paint: Paint): Prompts {
  const shown = query.length > MOST_SHOWN ? `…${query.slice(-MOST_SHOWN).toWellFormed()}` : query;
  const long = `(${hasFailed ? 'failed ' : ''}reverse-i-search)\`${shown}': `;
  const text = stringWidth(long) < columns / 2 ? long : stringWidth(shown) + 3 < columns ? `${shown}: ` : '';
  const width = stringWidth(text);
  return { first: paint(hasFailed ? 'red' : 'green', text), next: ' '.repeat(width), width };
}
