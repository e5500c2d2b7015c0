import { type Clock, systemClock } from '../lib/clock.ts';
import { deferred } from '../lib/deferred.ts';

/** Asks for the answer. Rejects with the signal's reason. */
export type AskKept<T> = (signal?: AbortSignal) => Promise<T>;

interface Asked<T> {
  readonly answer: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
  isSettled: boolean;
  /** The time until which the answer is kept. */
  until: number;
}

/**
 * Keeps the answer of `work` for some time; callers at the same time share it. An answer for which `forMs` says 0, and a failure, are not kept. The work is
 * reference-counted: its signal aborts when the signals of all its callers have. A caller without a signal waits to the end.
 */
export function keptAnswer<T>(
  work: (signal: AbortSignal) => Promise<T>,
  forMs: (answer: T) => number,
  clock: Clock = systemClock,
): AskKept<T> {
  let current: Asked<T> | undefined;

  function begin(): Asked<T> {
    const stop = new AbortController();
    const asked: Asked<T> = {
      ...{ answer: work(stop.signal), stop, waiting: 0 },
      ...{ isSettled: false, until: Number.POSITIVE_INFINITY },
    };
    const settle = (ms: number) => {
      asked.isSettled = true;
      asked.until = clock.now() + ms;
    };
    asked.answer.then(
      (answer) => settle(forMs(answer)),
      () => settle(0),
    );
    return asked;
  }

  function leave(asked: Asked<T>, reason: unknown): void {
    asked.waiting -= 1;
    if (asked.waiting > 0 || asked.isSettled) return;
    if (current === asked) current = undefined;
    asked.stop.abort(reason);
  }

  return async (signal) => {
    signal?.throwIfAborted();
    if (current === undefined || clock.now() >= current.until) current = begin();
    const asked = current;
    asked.waiting += 1;
    if (signal === undefined) return asked.answer;
    const { promise: aborted, reject } = deferred<never>();
    const withdraw = () => {
      reject(signal.reason);
      leave(asked, signal.reason);
    };
    signal.addEventListener('abort', withdraw, { once: true });
    return Promise.race([asked.answer, aborted]).finally(() => signal.removeEventListener('abort', withdraw));
  };
}
