/** A place of the pool, taken by a sandbox that is ready or being made for this owner. */
export interface TakenPlace {
  readonly owner: string;
  /** Whether its sandbox is ready, and may be disposed of for another owner's. */
  readonly isReady: boolean;
}

export type PlaceForOne<T> =
  | { readonly kind: 'free' }
  /** There is room once this one is disposed of. */
  | { readonly kind: 'evicts'; readonly place: T }
  | { readonly kind: 'none' };

/**
 * Whether the pool has a place for one more sandbox of an owner. `taken` is in order of age, the oldest first. SECURITY:
 * callers choose the properties of a kind, so one owner could take every place with kinds that no other owner asks for.
 * It gets half of them; if all are taken, the owner with the most loses its oldest to one that has at least two fewer.
 */
export function placeFor<T extends TakenPlace>(owner: string, taken: readonly T[], total: number): PlaceForOne<T> {
  const count = (of: string) => taken.filter((place) => place.owner === of).length;
  const mine = count(owner);
  if (mine >= Math.ceil(total / 2)) return { kind: 'none' };
  if (taken.length < total) return { kind: 'free' };
  const [oldestOfRichest] = taken
    .filter((place) => place.isReady && count(place.owner) > mine + 1)
    .sort((a, b) => count(b.owner) - count(a.owner));
  return oldestOfRichest === undefined ? { kind: 'none' } : { kind: 'evicts', place: oldestOfRichest };
}
