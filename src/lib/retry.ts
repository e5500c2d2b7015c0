import { setTimeout as sleep } from 'node:timers/promises';

export interface RetryOptions {
  /** The number of attempts in all. */
  readonly attempts: number;
  readonly pauseMs: number;
  /** Whether another attempt may succeed after this error. */
  readonly isTransient: (error: unknown) => boolean;
  /** Ends the pause between attempts, and with it the retries. */
  readonly signal?: AbortSignal;
}

/** Calls `work` until it succeeds. Rejects with its last error. */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { attempts, pauseMs, isTransient, signal } = options;
  for (let left = attempts - 1; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      if (left <= 0 || !isTransient(error) || signal?.aborted === true) throw error;
      const wasAborted = await sleep(pauseMs, false, signal === undefined ? {} : { signal }).catch(() => true);
      if (wasAborted) throw error;
    }
  }
}
