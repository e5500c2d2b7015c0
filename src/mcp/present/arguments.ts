import type { z } from 'zod';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { clip } from '../../lib/clip.ts';

/** SECURITY: what is wrong is named by its key, and keys are as long and as many as the caller likes. */
const COMPLAINT_CHARS = 400;
const COMPLAINTS_CHARS = 2_000;
const NAMED_KEYS = 5;

/** Arguments as the schema makes them. Throws `invalid_argument` with every complaint, because a model mends all of them at once. */
export function checkedArguments<Schema extends z.ZodObject>(schema: Schema, args: unknown): z.output<Schema> {
  const parsed = schema.safeParse(args ?? {});
  if (parsed.success) return parsed.data;
  const complaints = parsed.error.issues
    .slice(0, 10)
    .map((issue) => clip(`${placeOf(issue.path)}${problemOf(issue)}`, COMPLAINT_CHARS).text);
  throw new HotcellError('invalid_argument', clip(complaints.join('; '), COMPLAINTS_CHARS).text, {
    remedy: `Arguments of this tool: ${Object.keys(schema.shape).join(', ') || 'none'}.`,
  });
}

/** What is wrong with a key is said of the key, not of the record that it is in. */
function problemOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys' && issue.keys.length > NAMED_KEYS) {
    const named = issue.keys.slice(0, NAMED_KEYS).map((key) => JSON.stringify(clip(key, 60).text));
    return `Unrecognized keys: ${named.join(', ')} and ${issue.keys.length - NAMED_KEYS} more`;
  }
  return (issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined) ?? issue.message;
}

function placeOf(path: readonly PropertyKey[]): string {
  return path.length === 0 ? '' : `${path.join('.')}: `;
}
