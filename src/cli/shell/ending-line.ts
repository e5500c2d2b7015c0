import type { Outcome } from '../../sandbox/outcome.ts';
import { endingText } from '../run/ending.ts';

/** Line about the end of a command, beyond its own output. Undefined if it ended by itself. */
export function endingLine(outcome: Outcome): string | undefined {
  if (outcome.kind !== 'kernel-died') return endingText(outcome);
  return `hotcell: the command was ended by ${outcome.signal ?? 'a signal'}.`;
}
