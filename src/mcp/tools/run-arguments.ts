import * as z from 'zod';
import { requireAtMost } from '../../config/at-most.ts';
import { audited } from '../../telemetry/audited.ts';
import type { McpDeps } from '../deps.ts';

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

/** As an option of a run. Throws where it is longer than the server allows, before anything is opened for it. */
export function timeoutOf(timeout_ms: number | undefined, deps: McpDeps, via: string): { timeoutMs?: number } {
  const { config, audit, owner } = deps;
  audited(audit, { owner: owner.id, via }, () =>
    requireAtMost('timeout_ms', timeout_ms, { config, option: 'maxTimeoutMs' }),
  );
  return timeout_ms === undefined ? {} : { timeoutMs: timeout_ms };
}
