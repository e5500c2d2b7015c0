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
 */
export interface FairQueue {
  /** A place now, or nothing: without a promise, for the common case. */
  tryTake(key: string): Release | undefined;
  /** A place when there is one. Rejects with the signal's reason. */
  take(key: string, options?: { signal?: AbortSignal }): Promise<Release>;
  taken(): number;
  waiting(key?: string): number;
}

/** `alone`: a key that shares with no other, and may take all places. */
export function createFairQueue(places: number, { alone }: { alone?: string } = {}): FairQueue {
  /** Keys in the order in which they are served next: one that was served goes to the end. */
  const lines = new Map<string, Set<(release: Release) => void>>();
  const held = new Map<string, number>();
  let taken = 0;

  function mayTake(key: string): boolean {
    const free = places - taken;
    return free > 0 && (key === alone || (held.get(key) ?? 0) < free);
  }

  function claim(key: string): Release {
    count(key, 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      count(key, -1);
      serveWaiting();
    };
  }

  function count(key: string, change: 1 | -1): void {
    taken += change;
    const mine = (held.get(key) ?? 0) + change;
    if (mine === 0) held.delete(key);
    else held.set(key, mine);
  }

  /** Grants places until no waiting request is eligible: each grant only makes fewer of them eligible. */
  function serveWaiting(): void {
    for (;;) {
      const next = [...lines].find(([key]) => mayTake(key));
      if (next === undefined) return;
      const [key, line] = next;
      const [first] = line;
      line.delete(first!);
      lines.delete(key);
      if (line.size > 0) lines.set(key, line);
      first!(claim(key));
    }
  }

  function tryTake(key: string): Release | undefined {
    return mayTake(key) ? claim(key) : undefined;
  }

  async function take(key: string, { signal }: { signal?: AbortSignal } = {}): Promise<Release> {
    signal?.throwIfAborted();
    const now = tryTake(key);
    if (now !== undefined) return now;
    const { promise, resolve, reject } = deferred<Release>();
    const line = lines.get(key) ?? new Set();
    lines.set(key, line.add(resolve));
    const withdraw = () => {
      line.delete(resolve);
      if (line.size === 0 && lines.get(key) === line) lines.delete(key);
      reject(signal?.reason);
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
