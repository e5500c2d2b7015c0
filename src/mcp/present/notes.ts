import type { ExecutionResult } from '../../execution/result.ts';
import { saidInside } from '../../lib/said-inside.ts';
import type { Outcome } from '../../sandbox/outcome.ts';
import { outcomeSentence } from '../../sandbox/outcome-table.ts';
import { type Means, missingPartAdvice } from './missing-parts.ts';

/** Notes on the outcome of an execution, beyond its output: one sentence each, with advice. */
export function notesOf(
  result: ExecutionResult,
  { isFirst, means }: { readonly isFirst: boolean; readonly means: Means },
): string[] {
  return [...endingNotes(result, means), ...stateNotes(result), ...(isFirst ? isolationNotes(result) : [])];
}

function endingNotes(result: ExecutionResult, means: Means): string[] {
  const { outcome } = result;
  const sentence = outcomeSentence(outcome);
  if (sentence === undefined) return [];
  const advice = ADVICE[outcome.kind] ?? missingPartAdvice(result, means);
  return [[`${sentence[0]!.toUpperCase()}${sentence.slice(1)}.`, advice].filter(Boolean).join(' ')];
}

/** Advice for a model, in terms of the tools. */
const ADVICE: Partial<Record<Outcome['kind'], string>> = {
  'timed-out': 'Set a larger timeout_ms.',
  'out-of-memory':
    'Process the data in smaller pieces, or open a session with more memory (open_session, limits.memory_mb).',
  'sandbox-lost':
    'It is unknown whether the code ran. The next call gets a new sandbox: write the files that the code needs and run it again.',
};

function stateNotes({ outcome, restarted, state, files }: ExecutionResult): string[] {
  return [
    ...(restarted === undefined
      ? []
      : [`The variables of earlier calls were lost before this run: ${saidInside(restarted)}.`]),
    ...(state === 'kept' && outcome.kind === 'out-of-memory'
      ? ['The variables are kept, and so is their memory: delete large ones that you no longer need.']
      : []),
    ...(state === 'lost' ? ['All variables are lost: the next call starts in a new interpreter.'] : []),
    ...(files === 'lost' ? ['The files of the workspace are lost, too.'] : []),
  ];
}

/** The isolation of the session, said once, if a stronger one was preferred and is not available. */
function isolationNotes({ isolation }: ExecutionResult): string[] {
  if (isolation.passedOver.length === 0) return [];
  const names = isolation.passedOver.map(({ driver }) => driver).join(', ');
  return [`Isolation: ${isolation.driver} (level ${isolation.level}). Not available on this machine: ${names}.`];
}
