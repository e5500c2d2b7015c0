import type { z } from 'zod';

/** SECURITY: the invalid value may come from a request, and be as long as a request. */
const LONGEST = 2_000;

/** The error message about an option, under the name that the user set: `HOTCELL_PORT: abc is not a number`. */
export function complaint(issue: z.core.$ZodIssue, options: unknown, nameOf: (option: string) => string): string {
  const [option, ...below] = issue.path.map(String);
  if (option === undefined) return issue.message.slice(0, LONGEST);
  return `${[nameOf(option), ...below].join('.')}: ${problem(issue, valueAt(options, issue.path))}`.slice(0, LONGEST);
}

function problem(issue: z.core.$ZodIssue, value: unknown): string {
  if (typeof value !== 'string') return issue.message;
  if (issue.code === 'invalid_value') return `${value} is not one of ${issue.values.join(', ')}`;
  if (issue.code === 'invalid_type' && issue.expected === 'number') return `${value} is not a number`;
  return issue.message;
}

function valueAt(options: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((at: unknown, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], options);
}
