import * as z from 'zod';
import { requireAtMost } from '../../config/at-most.ts';
import type { ManagedSession } from '../../directory/directory.ts';
import { MOST_VALUE_CHARS, VARIABLE_NAME } from '../../execution/check-environment.ts';
import type { ToolCall } from '../define-tool.ts';
import { planRun, type RunPlan } from '../run-plan.ts';

/** Arguments of the tools that run something. */

export const timeoutArgument = z
  .number()
  .int()
  .min(1)
  .max(86_400_000)
  .optional()
  .describe('Timeout in ms. Default: 60000; in the background 600000');

export const environmentArgument = z
  .record(z.string().regex(VARIABLE_NAME, { error: 'not the name of a variable' }), z.string().max(MOST_VALUE_CHARS))
  .default({})
  .describe('More environment variables');

export const backgroundArgument = z
  .boolean()
  .default(false)
  .describe('Reply at once; get the result with get_execution. Later code in the same language waits for it');

/** How long the call waits for its run, and how long the run may take. */
export function planFor(
  { deps: { config }, patienceMs }: ToolCall,
  { timeout_ms, background }: { timeout_ms?: number | undefined; background: boolean },
): RunPlan {
  return planRun({ timeoutMs: timeout_ms, isBackground: background }, patienceMs, config);
}

/**
 * The session for a call that runs code. A timeout above the server's maximum is refused before a session is opened.
 */
export function sessionFor(
  { deps: { directory, owner, config }, signal }: ToolCall,
  via: string,
  { session_id, timeout_ms }: { session_id?: string | undefined; timeout_ms?: number | undefined },
): Promise<ManagedSession> {
  return directory.use(owner, session_id, {
    signal,
    via,
    check: () => requireAtMost('timeout_ms', timeout_ms, { config, option: 'maxTimeoutMs' }),
  });
}
