import { deferred } from './deferred.ts';

/** Gives a place back. Safe to repeat. */
export type Release = () => void;

/**
 * A number of places, shared fairly: whoever waits is served in turn by key, so that a key with a thousand waiting delays the next of another by
 * one. Among those of one key, who came first is first. It does not bound how many wait: its callers do.
 */
export interface FairQueue {
  /** A place now, or nothing: without a promise, for the common case. */
  tryTake(key: string): Release | undefined;
  /** A place when there is one. Rejects with the signal's reason. */
  take(key: string, options?: { signal?: AbortSignal }): Promise<Release>;
  taken(): number;
  waiting(key?: string): number;
}

export function createFairQueue(places: number): FairQueue {
  /** Keys in the order in which they are served next: one that was served goes to the end. */
  const lines = new Map<string, Set<(release: Release) => void>>();
  let taken = 0;

  function claim(): Release {
    taken += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      taken -= 1;
      serveNext();
    };
  }

  function serveNext(): void {
    if (taken >= places) return;
    const [key, line] = lines.entries().next().value ?? [];
    if (key === undefined || line === undefined) return;
    const [first] = line;
    line.delete(first!);
    lines.delete(key);
    if (line.size > 0) lines.set(key, line);
    first!(claim());
  }

  function tryTake(): Release | undefined {
    return taken < places && lines.size === 0 ? claim() : undefined;
  }

  async function take(key: string, { signal }: { signal?: AbortSignal } = {}): Promise<Release> {
    signal?.throwIfAborted();
    const free = tryTake();
    if (free !== undefined) return free;
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
