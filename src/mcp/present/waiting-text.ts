import type { ManagedExecution } from '../../directory/directory.ts';

/** Text about the execution or question that a queued execution waits for. */
export function waitingText(execution: Pick<ManagedExecution, 'waitsFor'>, now = Date.now()): string | undefined {
  const turn = execution.waitsFor();
  if (turn === undefined) return undefined;
  const what = turn.executionId === undefined ? 'a question about variables' : `execution ${turn.executionId}`;
  return `waits behind ${what}, which has used the same kernel for ${Math.max(0, Math.round((now - turn.since.getTime()) / 1000))} s`;
}
