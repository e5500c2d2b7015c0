/** The demand for one kind of sandbox: how many the pool keeps of it, by how often it was claimed of late. */
export interface Demand {
  claimed(now: number): void;
  /** How many are to be ready or in the making. Grows by one with each recent claim, and falls back to the least as they age. */
  target(now: number): number;
}

export interface DemandLimits {
  readonly least: number;
  readonly most: number;
}

/** A claim counts for so long. Sessions that follow each other within seconds are one piece of work, and the next of them is near. */
export const RECENT_MS = 10_000;

export function createDemand({ least, most }: DemandLimits): Demand {
  let claims: number[] = [];
  return {
    claimed: (now) => {
      // More than `most` make no difference.
      claims = [...claims, now].slice(-most);
    },
    target: (now) => {
      claims = claims.filter((at) => now - at < RECENT_MS);
      // The first claim says that there is demand, each further one that there is more of it.
      return Math.min(most, least + Math.max(0, claims.length - 1));
    },
  };
}
