import { distance } from 'fastest-levenshtein';

/** The known name most similar to `name`, for "did you mean …?". */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  return known.toSorted((a, b) => distance(a, name) - distance(b, name))[0];
}

/** The known name that was probably meant: a part of it, or it with few letters wrong. */
export function similarName(name: string, known: readonly string[]): string | undefined {
  const parts = known.filter((other) => name.length >= 3 && (other.includes(name) || name.includes(other)));
  const near = nearestName(name, parts.length > 0 ? parts : known);
  if (near === undefined || parts.length > 0) return near;
  return distance(near, name) <= Math.max(1, Math.floor(name.length / 3)) ? near : undefined;
}
