import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits for a cleanup with a timeout. After that it emits a process warning, and the cleanup continues in the
 * background, so that closing a session or a server does not hang on a process that Linux takes long to end.
 */
export async function waitAtMost(ms: number, cleanup: Promise<void>, what: string): Promise<void> {
  const over = new AbortController();
  const tooLate = sleep(ms, true, { signal: over.signal }).catch(() => false);
  const isLeft = await Promise.race([cleanup.then(() => false), tooLate]).finally(() => over.abort());
  if (!isLeft) return;
  process.emitWarning(`${what} is still there after ${ms / 1000} s. It is removed as soon as the kernel allows.`, {
    type: 'HotcellWarning',
    code: 'cleanup_delayed',
  });
  cleanup.catch(() => {});
}

/** The backoff between attempts of a cleanup, short at first. Later attempts do not keep the process alive. */
export function untilNextAttempt(attempt: number): Promise<void> {
  if (attempt < 50) return sleep(1);
  return attempt < 2_000 ? sleep(5) : sleep(250, undefined, { ref: false });
}
