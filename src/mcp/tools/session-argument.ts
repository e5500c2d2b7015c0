import * as z from 'zod';

/** The argument that names a session, in most tools. */
export const sessionArgument = z.string().min(1).max(100).optional().describe('Default: your default session');

/**
 * The path of a file in a workspace. The guest decides whether it is valid: it resolves the path inside the sandbox.
 */
export const pathArgument = z
  .string()
  .min(1)
  .max(4096)
  .refine((path) => path.isWellFormed(), { error: 'contains a lone surrogate' })
  .describe('Path in /workspace');
