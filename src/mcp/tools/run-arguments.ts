import * as z from 'zod';
import { requireAtMost } from '../../config/at-most.ts';
import type { ManagedSession } from '../../directory/directory.ts';
import type { ToolCall } from '../define-tool.ts';

/** Arguments of the tools that run something. */

export const timeoutArgument = z
  .number()
  .int()
  .min(1)
  .max(86_400_000)
  .optional()
  .describe('Stop it after this many milliseconds. Default: 60000, or what the server is set to');

export const backgroundArgument = z
  .boolean()
  .default(false)
  .describe('Answer at once with an execution_id while it runs on; ask for it with get_execution');

/** The session that a tool runs something in, for so long: refused before anything is opened where that is longer than the server allows. */
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
