import type { Refusal } from './contract.ts';

/** The refusals of an execution, for its result. Bounded: the same one counts once, and beyond the limit they are only counted. */
export interface RefusalList {
  add(refusal: Refusal): void;
  /** Returns them and begins anew. */
  take(): { refused: Refusal[]; more: number };
}

const MOST_REFUSALS = 20;

export function createRefusalList(most = MOST_REFUSALS): RefusalList {
  let refusals = new Map<string, Refusal>();
  let more = 0;
  return {
    add(refusal) {
      const key = JSON.stringify([refusal.host, refusal.port, refusal.why]);
      if (refusals.has(key)) return;
      if (refusals.size < most) refusals.set(key, refusal);
      else more += 1;
    },
    take() {
      const taken = { refused: [...refusals.values()], more };
      refusals = new Map();
      more = 0;
      return taken;
    },
  };
}
