import type { RunObserver } from '../execution/observe-runs.ts';
import type { ExecutionResult } from '../execution/result.ts';
import { commandCell } from './command-cell.ts';
import { createRecord, type ExecutionRecord } from './record.ts';

/** Records the runs of a session for a notebook. */
export interface RecordedRuns {
  readonly observer: RunObserver;
  /** The record of all runs that have ended. */
  record(): ExecutionRecord;
}

/** Records the runs of a session, up to `limitBytes`. Runs that failed before they produced a result are left out. */
export function recordRuns(limitBytes: number): RecordedRuns {
  const record = createRecord(limitBytes);
  let ended: [code: string, result: ExecutionResult][] = [];
  const flush = () => {
    for (const [code, result] of ended) record.add(code, result);
    ended = [];
  };
  return {
    observer: ({ code, command }) => ({
      ended: (result) => {
        const cell = command === undefined ? undefined : command.request();
        // What somebody typed into a terminal is no cell: it could not be run again.
        if (cell?.terminal !== undefined) return;
        ended.push(cell === undefined ? [code, result] : [commandCell(cell), { ...result, language: 'bash' }]);
        // Deferred, so that the caller gets its result first.
        if (ended.length === 1) setImmediate(flush);
      },
    }),
    record: () => {
      flush();
      return record;
    },
  };
}
