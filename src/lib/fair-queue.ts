import { deferred } from './deferred.ts';

/** Releases a place. Idempotent. */
export type Release = () => void;

/**
 * A fair semaphore: a number of places, shared by keys. Waiting requests are served round robin by key, so that a key
 * with a thousand waiting requests delays another key by one. Within a key they are served in order of arrival. The
 * number of waiting requests is not limited here; callers limit it.
 *
 * A key gets a place only while it holds fewer places than are free (a dynamic threshold, as switches share their
 * buffers). One key alone gets half of them, the next half of the rest, and so on. SECURITY: round robin alone does not
 * help if a place is held for long: one key would hold all of them, and another would wait until the holder releases
 * one. At least two places are needed to keep one free.
 *
 * Several places can be taken at once, such as bytes of a buffer. A key that holds none gets any number that is free.
 * SECURITY: while such a key waits, keys that hold places get no more; otherwise small requests would starve a large
 * one.
 */
export interface FairQueue {
  /** Takes a place immediately, or returns undefined; it avoids a promise in the common case. */
  tryTake(key: string, count?: number): Release | undefined;
  /** Takes a place, or `count` places at once, when they are free. Rejects with the signal's reason. */
  take(key: string, options?: { signal?: AbortSignal; count?: number }): Promise<Release>;
  taken(): number;
  waiting(key?: string): number;
}

interface Waiting {
  readonly count: number;
  serve(release: Release): void;
}

/** `alone`: a key that does not share, and may take all places. */
export function createFairQueue(places: number, { alone }: { alone?: string } = {}): FairQueue {
  /** Keys in the order in which they are served next; a key that was served moves to the end. */
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

  /** Grants places until no waiting request is eligible. Each grant can only reduce the eligible ones. */
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
