import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits for a cleanup, but not for ever: then it says so, as a warning of the process, and the cleanup goes on in the background. Whoever closes a
 * session or a server does not hang on a process that the host's kernel takes long to end.
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

/** Between two attempts of a cleanup: short at first. Later ones do not keep the process alive. */
export function untilNextAttempt(attempt: number): Promise<void> {
  if (attempt < 50) return sleep(1);
  return attempt < 2_000 ? sleep(5) : sleep(250, undefined, { ref: false });
}
