import type { Config } from '../config/schema.ts';
import { USUAL_WAIT_MS } from './client-patience.ts';

/** How long a call waits for its run, and how long the run may take. */
export interface RunPlan {
  readonly waitMs: number;
  readonly timeoutMs: number;
}

type Options = Pick<Config, 'timeoutMs' | 'maxTimeoutMs' | 'backgroundAfterMs' | 'backgroundTimeoutMs'>;

/**
 * The plan for a run. A run that named no timeout has the default one, unless it goes on in the background: then it has
 * more time, and its call is answered when the default timeout is over at the latest. So nobody waits long for a loop
 * that never ends, and nothing is lost of a run that is only slow.
 */
export function planRun(
  asked: { readonly timeoutMs: number | undefined; readonly isBackground: boolean },
  patienceMs: number,
  options: Options,
): RunPlan {
  if (asked.timeoutMs !== undefined) return { waitMs: asked.isBackground ? 0 : patienceMs, timeoutMs: asked.timeoutMs };
  const { timeoutMs, maxTimeoutMs, backgroundTimeoutMs, backgroundAfterMs = USUAL_WAIT_MS } = options;
  const inBackgroundMs = Math.min(maxTimeoutMs, Math.max(timeoutMs, backgroundTimeoutMs));
  if (asked.isBackground) return { waitMs: 0, timeoutMs: inBackgroundMs };
  if (timeoutMs <= Math.min(patienceMs, backgroundAfterMs)) return { waitMs: patienceMs, timeoutMs };
  return { waitMs: Math.min(patienceMs, timeoutMs), timeoutMs: inBackgroundMs };
}
