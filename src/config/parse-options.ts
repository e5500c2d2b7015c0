import type * as z from 'zod';
import { HotcellError } from '../errors/hotcell-error.ts';
import { complaint } from './complaint.ts';

/** Parses options. Throws `invalid_argument` for the first problem; `nameOf` names an option as the person who set it does. */
export function parseOptions<Schema extends z.ZodType>(
  schema: Schema,
  options: unknown,
  { nameOf = (option) => option, remedy = 'See docs/configuration.md for what is allowed.' }: Wording = {},
): z.infer<Schema> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw new HotcellError('invalid_argument', complaint(issue, options, nameOf), { remedy: ownRemedy(issue) ?? remedy });
}

/** The remedy of an option whose check knows a better one than the page of all options. */
function ownRemedy(issue: z.core.$ZodIssue): string | undefined {
  const remedy = issue.code === 'custom' ? issue.params?.remedy : undefined;
  return typeof remedy === 'string' ? remedy : undefined;
}

interface Wording {
  readonly nameOf?: (option: string) => string;
  readonly remedy?: string;
}
