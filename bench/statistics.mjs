/** The middle of what was measured, and how far it spread. */
export function summarise(samples) {
  const sorted = [...samples].sort((a, b) => a - b);
  return { count: sorted.length, median: quantile(sorted, 0.5), min: sorted[0], max: sorted.at(-1) };
}

/** Linear between the two nearest, so that the median of an even number lies between them. */
function quantile(sorted, share) {
  if (sorted.length === 0) throw new Error('nothing was measured');
  const place = (sorted.length - 1) * share;
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}
