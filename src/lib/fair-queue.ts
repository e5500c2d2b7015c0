import { deferred } from './deferred.ts';

/** Gives a place back. Safe to repeat. */
export type Release = () => void;

/**
 * A number of places, shared fairly. Those who wait are served round robin by key, so that a key with a thousand waiting delays the next of another by
 * one. Among those of one key, who came first is first. It does not bound how many wait: its callers do.
 *
 * A key takes a place only while it holds fewer places than are free (a dynamic threshold, as switches share their buffers). One key alone gets half of them, the next half
 * of the rest, and so on. SECURITY: turns alone do not help where a place is held for long: one key would hold all of them, and the first turn of another would come when
 * the holder pleases. It takes two places at least to keep one free.
 *
 * Several places can be taken at once, as bytes of a buffer are. A key that holds nothing gets any number that is free. SECURITY: while such a key waits, a key that holds places gets no more
 * of them; otherwise small requests would take for ever what a large one waits for.
 */
export interface FairQueue {
  /** A place now, or nothing: without a promise, for the common case. */
  tryTake(key: string, count?: number): Release | undefined;
  /** A place when there is one, or `count` of them at once. Rejects with the signal's reason. */
  take(key: string, options?: { signal?: AbortSignal; count?: number }): Promise<Release>;
  taken(): number;
  waiting(key?: string): number;
}

interface Waiting {
  readonly count: number;
  serve(release: Release): void;
}

/** `alone`: a key that shares with no other, and may take all places. */
export function createFairQueue(places: number, { alone }: { alone?: string } = {}): FairQueue {
  /** Keys in the order in which they are served next: one that was served goes to the end. */
  const lines = new Map<string, Set<Waiting>>();
  const held = new Map<string, number>();
  let taken = 0;

  function mayTake(key: string, count: number): boolean {
    const free = places - taken;
    const mine = held.get(key) ?? 0;
    if (count > free) return false;
    return (
      key === alone || mine === 0 || (mine + count <= free && ![...lines.keys()].some((other) => !held.has(other)))
    );
  }

  function claim(key: string, count: number): Release {
    add(key, count);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      add(key, -count);
      serveWaiting();
    };
  }

  function add(key: string, change: number): void {
    taken += change;
    const mine = (held.get(key) ?? 0) + change;
    if (mine === 0) held.delete(key);
    else held.set(key, mine);
  }

  /** Grants places until no waiting request is eligible: each grant only makes fewer of them eligible. */
  function serveWaiting(): void {
    for (;;) {
      const next = [...lines].find(([key, [first]]) => mayTake(key, first!.count));
      if (next === undefined) return;
      const [key, line] = next;
      const [first] = line;
      leave(key, first!);
      if (line.size > 0) {
        lines.delete(key);
        lines.set(key, line);
      }
      first!.serve(claim(key, first!.count));
    }
  }

  function leave(key: string, waiting: Waiting): void {
    const line = lines.get(key);
    line?.delete(waiting);
    if (line?.size === 0) lines.delete(key);
  }

  function tryTake(key: string, count = 1): Release | undefined {
    return !lines.has(key) && mayTake(key, count) ? claim(key, count) : undefined;
  }

  async function take(
    key: string,
    { signal, count = 1 }: { signal?: AbortSignal; count?: number } = {},
  ): Promise<Release> {
    signal?.throwIfAborted();
    const now = tryTake(key, count);
    if (now !== undefined) return now;
    const { promise, resolve, reject } = deferred<Release>();
    const waiting = { count, serve: resolve };
    lines.set(key, (lines.get(key) ?? new Set()).add(waiting));
    const withdraw = () => {
      leave(key, waiting);
      reject(signal?.reason);
      serveWaiting();
    };
    signal?.addEventListener('abort', withdraw, { once: true });
    try {
      return await promise;
    } finally {
      signal?.removeEventListener('abort', withdraw);
    }
  }

  return {
    tryTake,
    take,
    taken: () => taken,
    waiting: (key) =>
      key === undefined ? [...lines.values()].reduce((sum, line) => sum + line.size, 0) : (lines.get(key)?.size ?? 0),
  };
}
