import { tracebackParts } from '../../execution/traceback-parts.ts';
import { clip } from '../../lib/clip.ts';
import type { Outcome } from '../../sandbox/outcome.ts';

/**
 * An exception as text for a model: the traceback with its message, which gets as many characters as the output. Frames
 * before it and notes after it get half as many.
 */
export function errorText(outcome: Extract<Outcome, { kind: 'raised' }>, chars: number): string {
  const { before, message, after } = tracebackParts(outcome);
  return [clip(before, chars / 2), clip(message, chars), clip(after, chars / 2)].map(({ text }) => text).join('');
}
