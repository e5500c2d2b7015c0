import { HotcellError } from '../errors/hotcell-error.ts';
import { unlessWithdrawn } from '../lib/unless-withdrawn.ts';

/** The removals of sandboxes that go on after their sessions were closed. */
export interface Removals {
  track(owner: string, gone: Promise<void>): void;
  /** Resolves when the owner may open another session. Rejects with `cancelled` when the signal aborts. */
  room(owner: string, signal?: AbortSignal): Promise<void>;
  /** Resolves when nothing is being removed. */
  settled(): Promise<void>;
}

/**
 * SECURITY: an owner that opens and closes sessions in a loop must not pile up sandboxes that wait for their removal. Only the owner's own openings wait: a sandbox
 * with many files takes long to remove, and other tenants have no part in it.
 */
export function createRemovals(mostPerOwner: number): Removals {
  const byOwner = new Map<string, Set<Promise<void>>>();
  const of = (owner: string) => byOwner.get(owner) ?? new Set();
  return {
    track(owner, gone) {
      const mine = of(owner);
      byOwner.set(owner, mine);
      const removal = gone
        .catch(() => {})
        .finally(() => {
          mine.delete(removal);
          if (mine.size === 0 && byOwner.get(owner) === mine) byOwner.delete(owner);
        });
      mine.add(removal);
    },
    async room(owner, signal) {
      while (of(owner).size >= mostPerOwner) await unlessWithdrawn(Promise.race(of(owner)), signal, withdrawal);
    },
    async settled() {
      await Promise.all([...byOwner.values()].flatMap((removals) => [...removals]));
    },
  };
}

function withdrawal(): HotcellError {
  return new HotcellError('cancelled', 'opening the session was cancelled');
}
