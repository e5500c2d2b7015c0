import { deferred } from './deferred.ts';
import { createFairQueue, type Release } from './fair-queue.ts';

/** A file system did not answer in time. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/** Other lookups had not ended in time for this one to begin. */
export class LookupsBusyError extends Error {
  override readonly name = 'LookupsBusyError';
}

/**
 * Runs lookups of paths that callers name, a few at once, and gives up waiting after a deadline, which begins with the
 * act. `late` gets a result that arrives after that. An act must not have two requests to the file system under way at
 * once, and must end soon after its signal is aborted, unless a request hangs.
 *
 * SECURITY: a file system that never answers (another user's FUSE, a dead NFS server) keeps a thread of libuv's pool for
 * as long as it is silent, and the pool has four. All file access of the server would end with four such lookups. Here
 * a lookup keeps its place until it returns, so hanging ones occupy fewer threads than the pool has: they cost the
 * callers who name paths, and nobody else. Checking the mounts first is not enough, because a file system can be
 * mounted between the check and the lookup. An owner has one place at a time, and owners are served in turn, so that
 * one with many or slow lookups delays itself.
 */
export type Lookups = <T>(
  owner: string,
  act: (signal: AbortSignal) => Promise<T>,
  late?: (result: T) => void,
) => Promise<T>;

export function createLookups({ places = 2, deadlineMs = 10_000, waitMs = 10_000 } = {}): Lookups {
  const queue = createFairQueue(places);

  async function waitFor(owner: string): Promise<Release> {
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(new LookupsBusyError(`no place within ${waitMs} ms`)), waitMs);
    return queue.take(owner, { signal: patience.signal }).finally(() => clearTimeout(timer));
  }

  return async <T>(owner: string, act: (signal: AbortSignal) => Promise<T>, late?: (result: T) => void) => {
    const release = queue.tryTake(owner) ?? (await waitFor(owner));
    const { promise, resolve, reject } = deferred<T>();
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const error = new NoAnswerError(`no answer within ${deadlineMs} ms`);
      reject(error);
      stop.abort(error);
    }, deadlineMs);
    const held = async () => {
      try {
        return await act(stop.signal);
      } finally {
        release();
      }
    };
    held().then((result) => (stop.signal.aborted ? late?.(result) : resolve(result)), reject);
    return promise.finally(() => clearTimeout(timer));
  };
}

/** The lookups of this process: there is one pool of threads. */
export const lookUp: Lookups = createLookups();
