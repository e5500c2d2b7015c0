import * as z from 'zod';

/** The argument by which most tools name a session. */
export const sessionArgument = z
  .string()
  .min(1)
  .max(100)
  .optional()
  .describe(
    'Id or name of the session. Without it: your default session, opened on first use; on a server without tokens a new one, whose id is in the reply.',
  );

/** Of a file in a workspace. What the path may be is the guest's to decide: it walks it inside the sandbox. */
export const pathArgument = z
  .string()
  .min(1)
  .max(4096)
  .refine((path) => path.isWellFormed(), { error: 'holds half a character' })
  .describe('Path in the workspace: `data/sales.csv` or `/workspace/data/sales.csv`');
