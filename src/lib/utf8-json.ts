import { isUtf8 } from 'node:buffer';
import { excessIn, type JsonLimits } from './json-limits.ts';

/** Limits of what a guest answers: the largest answer is a table of 20,000 cells, or a list of 1000 variables. */
export const ANSWER_LIMITS: JsonLimits = { members: 30_000, names: 10_000, levels: 16 };
/** Limits of a list of files, of which there are 5000 at most. */
export const LIST_LIMITS: JsonLimits = { members: 30_000, names: 20_000, levels: 16 };

/**
 * Parses JSON in UTF-8 that a guest sent. SECURITY: throws if it is not UTF-8. Each wrong byte would become U+FFFD,
 * which takes three bytes when it is sent on. It also throws, before it parses, if the structure exceeds the limits: in
 * a member that no schema knows, a megabyte of brackets took the main thread 300 ms, one within the limits takes 15 ms.
 */
export function parseUtf8Json(data: Buffer, limits = ANSWER_LIMITS): unknown {
  if (!isUtf8(data)) throw new SyntaxError('not UTF-8');
  const text = data.toString('utf8');
  const excess = excessIn(text, limits);
  if (excess !== undefined) throw new SyntaxError(excess);
  return JSON.parse(text);
}
