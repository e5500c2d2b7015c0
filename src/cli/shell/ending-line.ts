import type { Outcome } from '../../sandbox/outcome.ts';
import { endingText } from '../run/ending.ts';

/** What a person must know of how a command ended, beyond its own output. Undefined where it ended by itself. */
export function endingLine(outcome: Outcome): string | undefined {
  if (outcome.kind !== 'kernel-died') return endingText(outcome);
  return `hotcell: the command was ended by ${outcome.signal ?? 'a signal'}.`;
}
