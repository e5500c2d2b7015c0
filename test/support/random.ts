/** Whole numbers from 0 to below `below`, the same ones for the same seed: a linear congruential generator, which no library's new version changes. */
export type Random = (below: number) => number;

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
