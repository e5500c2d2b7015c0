import { type Deferred, deferred } from '../lib/deferred.ts';

/**
 * A queue between the producer of results and a consumer that iterates over them. Without a consumer it keeps nothing.
 */
export interface ResultQueue<T> {
  /** Resolves when there is room for another result (backpressure). */
  push(result: T): Promise<void>;
  end(failure?: unknown): void;
  iterator(): AsyncIterator<T, undefined>;
}

/** Results are large, so a consumer may be at most this far behind. */
const MOST_UNREAD = 4;

export function createResultQueue<T>(): ResultQueue<T> {
  let results: T[] = [];
  let hasReader = false;
  let ended = false;
  let failure: unknown;
  let arrived: Deferred<void> | undefined;
  let room: Deferred<void> | undefined;

  const wakeReader = () => {
    arrived?.resolve();
    arrived = undefined;
  };
  const letWriterGo = () => {
    room?.resolve();
    room = undefined;
  };

  return {
    async push(result) {
      if (!hasReader || ended) return;
      results.push(result);
      wakeReader();
      if (results.length < MOST_UNREAD) return;
      room ??= deferred<void>();
      await room.promise;
    },
    end(reason) {
      ended = true;
      failure = reason;
      wakeReader();
      letWriterGo();
    },
    iterator() {
      hasReader = true;
      return {
        async next() {
          while (results.length === 0 && !ended) {
            arrived ??= deferred<void>();
            await arrived.promise;
          }
          const value = results.shift();
          if (results.length < MOST_UNREAD) letWriterGo();
          if (value !== undefined) return { done: false, value };
          if (failure !== undefined) throw failure;
          return { done: true, value: undefined };
        },
        async return() {
          hasReader = false;
          results = [];
          letWriterGo();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
