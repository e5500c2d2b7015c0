import { createFairQueue, type FairQueue, type Release } from './fair-queue.ts';

/** A semaphore for each key. A key that holds its places for long does not block other keys. */
export interface PlacesPerKey {
  /** Takes a place of this key when one is free, first come, first served. Rejects with the signal's reason. */
  take(key: string, options?: { signal?: AbortSignal }): Promise<Release>;
  /** The number of keys that hold places. */
  size(): number;
}

export function createPlacesPerKey(places: number): PlacesPerKey {
  const queues = new Map<string, FairQueue>();
  return {
    async take(key, options) {
      const queue = queues.get(key) ?? createFairQueue(places, { alone: key });
      queues.set(key, queue);
      const forget = () => {
        if (queue.taken() === 0 && queues.get(key) === queue) queues.delete(key);
      };
      try {
        const release = await queue.take(key, options);
        return () => {
          release();
          forget();
        };
      } catch (error) {
        forget();
        throw error;
      }
    },
    size: () => queues.size,
  };
}
