const DIGITS = 4;

/** The name of the next layer: a number of a fixed length, so that names sort by age. Other names are ignored. */
export function nextName(existing: readonly string[]): string {
  const numbers = existing.filter((name) => /^\d+$/.test(name)).map(Number);
  return String(Math.max(0, ...numbers) + 1).padStart(DIGITS, '0');
}
