/** The demand for one kind of sandbox: the number that the pool keeps, from the number of recent claims. */
export interface Demand {
  claimed(now: number): void;
  /**
   * The number of sandboxes to have ready or in progress. It grows by one with each recent claim, and falls back to the
   * minimum as they age.
   */
  target(now: number): number;
}

export interface DemandLimits {
  readonly least: number;
  readonly most: number;
}

/**
 * The time for which a claim counts. Sessions that follow each other within seconds belong to one piece of work, and
 * the next is likely.
 */
export const RECENT_MS = 10_000;

export function createDemand({ least, most }: DemandLimits): Demand {
  let claims: number[] = [];
  return {
    claimed: (now) => {
      // More than `most` claims make no difference.
      claims = [...claims, now].slice(-most);
    },
    target: (now) => {
      claims = claims.filter((at) => now - at < RECENT_MS);
      // The first claim shows that there is demand, each further one that there is more.
      return Math.min(most, least + Math.max(0, claims.length - 1));
    },
  };
}
