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

type Line = Set<Waiting>;

/** `alone`: a key that does not share, and may take all places. */
export function createFairQueue(places: number, { alone }: { alone?: string } = {}): FairQueue {
  /**
   * Keys that wait and hold no place, and keys that wait and hold some, each in the order in which they are served
   * next; a key that was served moves to the end. SECURITY: two maps, so that a grant looks at the first of many
   * waiting keys, and at no more holders than there are places. An attacker chooses the number of keys.
   */
  const [fresh, holding] = [new Map<string, Line>(), new Map<string, Line>()];
  const held = new Map<string, number>();
  let taken = 0;
  let waitingCount = 0;

  const linesOf = (key: string) => (held.has(key) ? holding : fresh);

  function mayTake(key: string, count: number): boolean {
    const free = places - taken;
    const mine = held.get(key) ?? 0;
    if (count > free) return false;
    return key === alone || mine === 0 || (mine + count <= free && fresh.size === 0);
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
    const line = linesOf(key).get(key);
    linesOf(key).delete(key);
    taken += change;
    const mine = (held.get(key) ?? 0) + change;
    if (mine === 0) held.delete(key);
    else held.set(key, mine);
    if (line !== undefined && line.size > 0) linesOf(key).set(key, line);
  }

  /** Grants places until no waiting request is eligible. Each grant can only reduce the eligible ones. */
  function serveWaiting(): void {
    for (let key = nextKey(); key !== undefined; key = nextKey()) {
      const [first] = linesOf(key).get(key)!;
      leave(key, first!);
      first!.serve(claim(key, first!.count));
    }
  }

  function nextKey(): string | undefined {
    if (taken === places || waitingCount === 0) return undefined;
    for (const lines of [fresh, holding])
      for (const [key, [first]] of lines) if (mayTake(key, first!.count)) return key;
    return undefined;
  }

  function leave(key: string, waiting: Waiting): void {
    const line = linesOf(key).get(key);
    if (line?.delete(waiting)) waitingCount -= 1;
    if (line?.size === 0) linesOf(key).delete(key);
  }

  function tryTake(key: string, count = 1): Release | undefined {
    return !linesOf(key).has(key) && mayTake(key, count) ? claim(key, count) : undefined;
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
    linesOf(key).set(key, (linesOf(key).get(key) ?? new Set()).add(waiting));
    waitingCount += 1;
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
    waiting: (key) => (key === undefined ? waitingCount : (linesOf(key).get(key)?.size ?? 0)),
  };
}
