/** Median and spread of the samples. */
export function summarise(samples) {
  const sorted = [...samples].sort((a, b) => a - b);
  return { count: sorted.length, median: quantile(sorted, 0.5), min: sorted[0], max: sorted.at(-1) };
}

/** Interpolates linearly, so that the median of an even number lies between the two middle samples. */
function quantile(sorted, share) {
  if (sorted.length === 0) throw new Error('nothing was measured');
  const place = (sorted.length - 1) * share;
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}
