import type { ExecutionResult } from '../../execution/result.ts';
import { inOneLine, saidInside } from '../../lib/said-inside.ts';

/** What a reader must know of how an execution ended, beyond what it printed: one sentence each, and what to do about it. */
export function notesOf(result: ExecutionResult, isFirst: boolean): string[] {
  return [...endingNotes(result), ...stateNotes(result), ...(isFirst ? isolationNotes(result) : [])];
}

function endingNotes({ outcome }: ExecutionResult): string[] {
  switch (outcome.kind) {
    case 'ok':
    case 'raised':
      return [];
    case 'exited':
      return [`Exit code ${outcome.exitCode}.`];
    case 'timed-out':
      return [
        `Stopped at the time limit of ${seconds(outcome.limitMs)}. Give it longer with timeout_ms, or run it with background: true and poll get_execution.`,
      ];
    case 'out-of-memory':
      return [
        `Out of memory at the limit of ${mebibytes(outcome.limitBytes)}. Work in smaller pieces, or open a session with more (open_session, limits.memory_mb).`,
      ];
    case 'interrupted':
      return ['Interrupted before it had ended.'];
    case 'sandbox-lost':
      return [
        `The sandbox was lost (${inOneLine(outcome.reason)}); whether the code ran is unknown. Write the files it needs and run it again: the next call has a new sandbox.`,
      ];
    case 'kernel-died':
      return [`The interpreter died${outcome.signal === undefined ? '' : ` of ${outcome.signal}`}.`];
    case 'unavailable':
      return [`Cannot run here: ${outcome.missing.join(', ')} is missing. ${outcome.hint}`.trim()];
  }
}

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

function seconds(durationMs: number): string {
  return `${Math.round(durationMs / 100) / 10} s`;
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1_048_576)} MiB`;
}
