import { summarise } from './statistics.mjs';

/**
 * Judges a measured row: `{ what, unit, ours: number[], baseline?: { name, samples }, target?, note? }`, or `{ what,
 * notTried }`.
 * Targets: `{ timesBetter: 50 }` against the baseline's median, `{ below: 500 }` and `{ atMost: 2 }` for the median, `{
 * worstBelow: 50 }` for the largest sample, `{ text, met }` for a target that is not a number.
 */
export function judge(row) {
  if (row.notTried !== undefined) return { ...row, verdict: 'not tried' };
  const ours = summarise(row.ours);
  const baseline = row.baseline?.samples === undefined ? undefined : summarise(row.baseline.samples);
  const ratio = baseline === undefined ? undefined : baseline.median / ours.median;
  return { ...row, summary: { ours, baseline, ratio }, verdict: verdictOf(row.target, ours, ratio) };
}

function verdictOf(target, ours, ratio) {
  if (target === undefined) return 'no target';
  if (target.met !== undefined) return metOrMissed(target.met);
  if (target.below !== undefined) return metOrMissed(ours.median < target.below);
  if (target.atMost !== undefined) return metOrMissed(ours.median <= target.atMost);
  if (target.worstBelow !== undefined) return metOrMissed(ours.max < target.worstBelow);
  return ratio === undefined ? 'not judged' : metOrMissed(ratio >= target.timesBetter);
}

function metOrMissed(met) {
  return met ? 'met' : 'missed';
}
