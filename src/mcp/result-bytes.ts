import type { ExecutionResult } from '../execution/result.ts';

/** About the number of bytes that a reply about a result reads. */
export function resultBytes({ stdout, stderr, value, displays, outcome }: ResultParts): number {
  let bytes = stdout.length + stderr.length + (value?.text.length ?? 0);
  for (const { representations } of displays) for (const { data } of representations) bytes += data.length;
  if (outcome.kind !== 'raised') return bytes;
  bytes += outcome.message.length;
  for (const line of outcome.traceback) bytes += line.length;
  return bytes;
}

type ResultParts = Pick<ExecutionResult, 'stdout' | 'stderr' | 'value' | 'displays' | 'outcome'>;
