import type { Execution } from '../execution/execute.ts';
import type { ExecutionResult } from '../execution/result.ts';
import type { Session as CodeSession } from '../execution/session-facade.ts';
import type { Notebook, NotebookSource } from './nbformat.ts';
import { createRecord } from './record.ts';
import type { NotebookOptions, NotebookRun } from './run.ts';
import { runNotebook } from './run.ts';
import { notebookOfRecord } from './write.ts';

/** One sandbox with live state. `await using session = await hotcell.open()` closes it at the end of the block. */
export interface Session extends CodeSession {
  /**
   * Runs the code cells of a notebook (nbformat 4: its JSON text, or what that says). Stops at the first that fails, unless told to keep going; a cell
   * tagged `raises-exception` may raise.
   */
  runNotebook(notebook: NotebookSource, options?: NotebookOptions): NotebookRun;
  /** Everything that was run in this session, with its outputs, as a notebook that Jupyter opens. What its record could not hold is named in it. */
  exportNotebook(): Promise<Notebook>;
}

/** A session that remembers what it ran, `recordBytes` at most. */
export function notebookSession(session: CodeSession, recordBytes: number): Session {
  const record = createRecord(recordBytes);
  let ended: [code: string, result: ExecutionResult][] = [];
  /** Not in the way of whoever waits for the result. */
  const remember = () => {
    for (const [code, result] of ended) record.add(code, result);
    ended = [];
  };
  const run: CodeSession['run'] = (code, options) => {
    const execution: Execution = session.run(code, options);
    execution.then(
      (result) => {
        ended.push([code, result]);
        if (ended.length === 1) setImmediate(remember);
      },
      () => {}, // what never ran is no part of a notebook; whoever asked for it hears why
    );
    return execution;
  };
  return {
    ...session,
    run,
    runNotebook: (notebook, options) => runNotebook(run, notebook, options),
    exportNotebook: async () => {
      remember();
      return notebookOfRecord(record);
    },
  };
}
