import { HotcellError } from '../errors/hotcell-error.ts';
import { unlessAborted } from '../lib/abort.ts';
import { deferred } from '../lib/deferred.ts';

/** Runs work of a session after the work that it has begun before, or rejects with the signal's reason. `of` is any object that lives as long as the session. */
export type SessionTurns = <T>(of: object, signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

/** SECURITY: any caller can ask, any number of times, and each installation may start sandboxes. */
const MOST_WAITING = 16;

/** One installation at a time: each depends on the packages that the session has. */
export function createSessionTurns(): SessionTurns {
  const turns = new WeakMap<object, { last: Promise<void>; waiting: number }>();
  return async (of, signal, work) => {
    const turn = turns.get(of) ?? { last: Promise.resolve(), waiting: 0 };
    turns.set(of, turn);
    if (turn.waiting > MOST_WAITING)
      throw new HotcellError(
        'install_failed',
        `${MOST_WAITING} installations of the session are waiting, which is the limit`,
        {
          remedy: 'Wait for them, and name all packages in one call.',
        },
      );
    const { last: before } = turn;
    const done = deferred<void>();
    turn.waiting += 1;
    turn.last = before.then(() => done.promise);
    try {
      await unlessAborted(before, signal);
      return await work();
    } finally {
      turn.waiting -= 1;
      done.resolve();
    }
  };
}
