import { distance } from 'fastest-levenshtein';

/** The known name most similar to `name`, for "did you mean …?". */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  return known.toSorted((a, b) => distance(a, name) - distance(b, name))[0];
}
