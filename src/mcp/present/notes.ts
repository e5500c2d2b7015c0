import type { ExecutionResult } from '../../execution/result.ts';
import { saidInside } from '../../lib/said-inside.ts';
import type { Outcome } from '../../sandbox/outcome.ts';
import { outcomeSentence } from '../../sandbox/outcome-table.ts';

/** What a reader must know of how an execution ended, beyond what it printed: one sentence each, and what to do about it. */
export function notesOf(result: ExecutionResult, isFirst: boolean): string[] {
  return [...endingNotes(result), ...stateNotes(result), ...(isFirst ? isolationNotes(result) : [])];
}

function endingNotes({ outcome }: ExecutionResult): string[] {
  const sentence = outcomeSentence(outcome);
  if (sentence === undefined) return [];
  return [[`${sentence[0]!.toUpperCase()}${sentence.slice(1)}.`, ADVICE[outcome.kind]].filter(Boolean).join(' ')];
}

/** What a model can do about it, in the words of the tools. */
const ADVICE: Partial<Record<Outcome['kind'], string>> = {
  'timed-out': 'Give it longer with timeout_ms, or run it with background: true and poll get_execution.',
  'out-of-memory': 'Work in smaller pieces, or open a session with more (open_session, limits.memory_mb).',
  'sandbox-lost':
    'Whether the code ran is unknown. Write the files it needs and run it again: the next call has a new sandbox.',
};

function stateNotes({ restarted, state, files }: ExecutionResult): string[] {
  return [
    ...(restarted === undefined
      ? []
      : [`It began without the variables of earlier calls, because they were lost: ${saidInside(restarted)}.`]),
    ...(state === 'lost' ? ['All variables are gone: the next call starts in a fresh interpreter.'] : []),
    ...(files === 'lost' ? ['The files of the workspace are gone too.'] : []),
  ];
}

/** Once a session: where it runs, when something stronger was wanted and is not to be had. */
function isolationNotes({ isolation }: ExecutionResult): string[] {
  if (isolation.passedOver.length === 0) return [];
  const names = isolation.passedOver.map(({ driver }) => driver).join(', ');
  return [`Isolation: ${isolation.driver} (level ${isolation.level}). Not available on this machine: ${names}.`];
}
