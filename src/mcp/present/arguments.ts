import type { z } from 'zod';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { clip } from '../../lib/clip.ts';
import { similarName } from '../../lib/nearest-name.ts';

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
    remedy: [...meant(parsed.error.issues, schema), `Arguments of this tool: ${namesOf(schema)}.`].join(' '),
  });
}

function namesOf({ shape }: z.ZodObject): string {
  return Object.keys(shape).join(', ') || 'none';
}

/** The arguments of the tool that unknown ones were probably meant as. */
function meant(issues: readonly z.core.$ZodIssue[], { shape }: z.ZodObject): string[] {
  const unknown = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys.slice(0, NAMED_KEYS) : [],
  );
  const known = Object.keys(shape);
  const names = unknown.flatMap((key) => similarName(key.slice(0, 60), known) ?? []);
  return names.length === 0 ? [] : [`Did you mean ${[...new Set(names)].join(', ')}?`];
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
