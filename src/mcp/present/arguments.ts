import type { z } from 'zod';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { clip } from '../../lib/clip.ts';

/** SECURITY: messages name the wrong keys, and a caller may send any number of keys of any length. */
const COMPLAINT_CHARS = 400;
const COMPLAINTS_CHARS = 2_000;
const NAMED_KEYS = 5;

/**
 * Parses the arguments. Throws `invalid_argument` with all problems at once, so that a model can fix them in one step.
 */
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

/** The problem of a key names the key, not the record that contains it. */
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
