import { deferred } from './deferred.ts';

/** A file system did not answer in time. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/**
 * Runs lookups of paths that callers name, a few at once, and gives up waiting after a deadline. `late` gets a result
 * that arrives after that. An act must not have two requests to the file system under way at once.
 *
 * SECURITY: a file system that never answers (another user's FUSE, a dead NFS server) keeps a thread of libuv's pool for
 * as long as it is silent, and the pool has four. All file access of the server would end with four such lookups. Here
 * a lookup keeps its place until it returns, so hanging ones occupy fewer threads than the pool has: they cost the
 * callers who name paths, and nobody else. Checking the mounts first is not enough, because a file system can be
 * mounted between the check and the lookup.
 */
export type Lookups = <T>(act: () => Promise<T>, late?: (result: T) => void) => Promise<T>;

export function createLookups({ places = 2, deadlineMs = 10_000 } = {}): Lookups {
  let free = places;
  const waiting = new Set<() => void>();

  async function held<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } finally {
      const [next] = waiting;
      if (next === undefined) free += 1;
      else {
        waiting.delete(next);
        next();
      }
    }
  }

  return async <T>(act: () => Promise<T>, late?: (result: T) => void) => {
    const { promise, resolve, reject } = deferred<T>();
    let isLate = false;
    const start = () => {
      held(act).then((result) => (isLate ? late?.(result) : resolve(result)), reject);
    };
    const timer = setTimeout(() => {
      isLate = true;
      waiting.delete(start);
      reject(new NoAnswerError(`no answer within ${deadlineMs} ms`));
    }, deadlineMs);
    if (free === 0) waiting.add(start);
    else {
      free -= 1;
      start();
    }
    return promise.finally(() => clearTimeout(timer));
  };
}

/** The lookups of this process: there is one pool of threads. */
export const lookUp: Lookups = createLookups();
