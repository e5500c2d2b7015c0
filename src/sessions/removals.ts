import { HotcellError } from '../errors/hotcell-error.ts';
import { deferred } from '../lib/deferred.ts';
import { unlessWithdrawn } from '../lib/unless-withdrawn.ts';

/** The removals of sandboxes that go on after their sessions were closed. */
export interface Removals {
  track(owner: string, gone: Promise<void>): void;
  /**
   * Resolves when the owner may open another session; the returned function says that it is open. Rejects with
   * `cancelled` when the signal aborts.
   */
  room(owner: string, signal?: AbortSignal): Promise<() => void>;
  /** Resolves when nothing is being removed. */
  settled(): Promise<void>;
}

interface OfOwner {
  readonly removals: Set<Promise<void>>;
  /** Openings that wait, in order of arrival. */
  readonly waiting: Set<() => void>;
  /** Openings that have waited and are under way. */
  admitted: number;
}

/**
 * SECURITY: an owner that opens and closes sessions in a loop must not pile up sandboxes that wait for their removal. Only the owner's own openings wait: a sandbox
 * with many files takes long to remove, and other tenants have no part in it. One removal that ends admits one opening, not all that wait.
 */
export function createRemovals(mostPerOwner: number): Removals {
  const byOwner = new Map<string, OfOwner>();

  function of(owner: string): OfOwner {
    const known = byOwner.get(owner) ?? { removals: new Set(), waiting: new Set(), admitted: 0 };
    byOwner.set(owner, known);
    return known;
  }

  function proceed(owner: string): void {
    const mine = of(owner);
    for (const admit of mine.waiting) {
      if (isFull(mine)) return;
      mine.waiting.delete(admit);
      mine.admitted += 1;
      admit();
    }
    if (mine.removals.size + mine.admitted === 0) byOwner.delete(owner);
  }

  const isFull = ({ removals, admitted }: OfOwner) => removals.size + admitted >= mostPerOwner;

  return {
    track(owner, gone) {
      const { removals } = of(owner);
      const removal = gone
        .catch(() => {})
        .finally(() => {
          removals.delete(removal);
          proceed(owner);
        });
      removals.add(removal);
    },
    async room(owner, signal) {
      const mine = byOwner.get(owner);
      if (mine === undefined || (!isFull(mine) && mine.waiting.size === 0)) return () => {};
      const turn = deferred<void>();
      mine.waiting.add(turn.resolve);
      const release = once(() => {
        mine.admitted -= 1;
        proceed(owner);
      });
      await unlessWithdrawn(turn.promise, signal, () => {
        if (!mine.waiting.delete(turn.resolve)) release(); // it was admitted at the same time
        return new HotcellError('cancelled', 'opening the session was cancelled');
      });
      return release;
    },
    async settled() {
      await Promise.all([...byOwner.values()].flatMap(({ removals }) => [...removals]));
    },
  };
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
