import { setTimeout as sleep } from 'node:timers/promises';
import type { ManagedExecution } from '../directory/directory.ts';

/** Waits until an execution has ended, or for that time, or until the signal is aborted. */
export async function waitForEnd(execution: ManagedExecution, waitMs: number, signal?: AbortSignal): Promise<void> {
  if (execution.state() === 'ended' || waitMs <= 0) return;
  const stop = new AbortController();
  const over = sleep(waitMs, undefined, {
    signal: signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]),
  }).catch(() => {});
  await Promise.race([execution.result.catch(() => {}), over]);
  stop.abort();
}
