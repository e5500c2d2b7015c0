import type { z } from 'zod';
import { HotcellError } from '../../errors/hotcell-error.ts';

/** Arguments as the schema makes them. Throws `invalid_argument` with every complaint, because a model mends all of them at once. */
export function checkedArguments<Schema extends z.ZodObject>(schema: Schema, args: unknown): z.output<Schema> {
  const parsed = schema.safeParse(args ?? {});
  if (parsed.success) return parsed.data;
  const complaints = parsed.error.issues.slice(0, 10).map((issue) => `${placeOf(issue.path)}${problemOf(issue)}`);
  throw new HotcellError('invalid_argument', complaints.join('; '), {
    remedy: `Arguments of this tool: ${Object.keys(schema.shape).join(', ') || 'none'}.`,
  });
}

/** What is wrong with a key is said of the key, not of the record that it is in. */
function problemOf(issue: z.core.$ZodIssue): string {
  return (issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined) ?? issue.message;
}

function placeOf(path: readonly PropertyKey[]): string {
  return path.length === 0 ? '' : `${path.join('.')}: `;
}
