import * as z from 'zod';
import { requireAtMost } from '../../config/at-most.ts';
import type { ManagedSession } from '../../directory/directory.ts';
import { MOST_VALUE_CHARS, VARIABLE_NAME } from '../../execution/check-environment.ts';
import type { ToolCall } from '../define-tool.ts';

/** Arguments of the tools that run something. */

export const timeoutArgument = z
  .number()
  .int()
  .min(1)
  .max(86_400_000)
  .optional()
  .describe('Timeout in milliseconds. Default: 60000, unless the server is configured otherwise');

export const environmentArgument = z
  .record(z.string().regex(VARIABLE_NAME, { error: 'not the name of a variable' }), z.string().max(MOST_VALUE_CHARS))
  .default({})
  .describe('Additional environment variables');

export const backgroundArgument = z
  .boolean()
  .default(false)
  .describe('Return an execution_id at once and keep running; get the result with get_execution');

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
