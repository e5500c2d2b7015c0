import * as z from 'zod';

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
