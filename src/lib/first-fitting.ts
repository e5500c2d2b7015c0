/**
 * The first of some items: as many as take at most `most` together. SECURITY: a program chooses names and texts, and
 * their number and length multiply.
 */
export function firstFitting<T>(items: readonly T[], most: number, sizeOf: (item: T) => number): readonly T[] {
  let total = 0;
  const end = items.findIndex((item) => {
    total += sizeOf(item);
    return total > most;
  });
  return end === -1 ? items : items.slice(0, end);
}
