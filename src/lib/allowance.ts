export interface Allowance {
  /** Uses `count` up. False if that is more than there is; the debt counts, so that it takes time to recover. */
  take(count: number): boolean;
  isSpent(): boolean;
}

export interface AllowanceLimit {
  /** Available at once. */
  readonly free: number;
  readonly perSecond: number;
  /** The largest debt. */
  readonly mostDebt: number;
}

/** A leaky bucket: `free` at once, and `perSecond` in each second. */
export function createAllowance(
  { free, perSecond, mostDebt }: AllowanceLimit,
  now: () => number = () => performance.now(),
): Allowance {
  let used = 0;
  let since = now();
  const refill = () => {
    const at = now();
    used = Math.max(0, used - ((at - since) / 1000) * perSecond);
    since = at;
  };
  return {
    take(count) {
      refill();
      used = Math.min(used + count, free + mostDebt);
      return used <= free;
    },
    isSpent() {
      refill();
      return used > free;
    },
  };
}
