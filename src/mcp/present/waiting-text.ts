import type { ManagedExecution } from '../../directory/directory.ts';

/** What an execution that has not begun waits for, in the words of a reply. */
export function waitingText(execution: Pick<ManagedExecution, 'waitsFor'>, now = Date.now()): string | undefined {
  const turn = execution.waitsFor();
  if (turn === undefined) return undefined;
  const what = turn.executionId === undefined ? 'a question about variables' : `execution ${turn.executionId}`;
  return `waits for ${what}, which has used the same kernel for ${Math.max(0, Math.round((now - turn.since.getTime()) / 1000))} s`;
}
