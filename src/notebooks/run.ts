import type { Execution, ExecutionOptions } from '../execution/execution.ts';
import type { RunCode } from '../execution/observe-runs.ts';
import type { ExecutionResult } from '../execution/result.ts';
import { deferred } from '../lib/deferred.ts';
import type { Outcome } from '../sandbox/outcome.ts';
import { cellLanguage, languageOf } from './language.ts';
import { type CodeCell, type Notebook, type NotebookSource, parseNotebook, tagsOf } from './nbformat.ts';
import { createRecord, type RecordedExecution } from './record.ts';
import { createResultQueue } from './result-queue.ts';
import { executedNotebook } from './write.ts';

export interface NotebookOptions {
  /** Interrupts the cell that runs, and runs no other. */
  readonly signal?: AbortSignal;
  /** The time limit of each cell. */
  readonly timeoutMs?: number;
  /** Run the cells after one that fails too. */
  readonly keepGoing?: boolean;
  /** How tracebacks and errors name it. */
  readonly name?: string;
  /** Called as each cell begins; the next waits for what it returns. */
  readonly onCell?: (cell: RunningCell, execution: Execution) => void | Promise<void>;
}

export interface RunningCell {
  /** Its place among all cells of the notebook, from 0. */
  readonly index: number;
  /** Its place among those that were run, from 1. */
  readonly number: number;
  readonly source: string;
  readonly tags: readonly string[];
}

export interface CellResult extends RunningCell {
  readonly result: ExecutionResult;
  /** A cell tagged `raises-exception` may raise. */
  readonly failed: boolean;
}

/** How one cell ended, without what it printed and showed: that is in the notebook. */
export interface CellEnd extends Pick<RunningCell, 'index' | 'number'>, Pick<ExecutionResult, 'durationMs' | 'state'> {
  readonly executionId: string;
  readonly outcome: Outcome;
  readonly failed: boolean;
}

export interface NotebookResult {
  /** No cell failed. */
  readonly ok: boolean;
  readonly cells: readonly CellEnd[];
  /** Code cells that were not reached. */
  readonly cellsNotRun: number;
  /** It with its new outputs. Those beyond 64 MiB are left out, oldest first, and it says so. */
  readonly notebook: Notebook;
}

/** A notebook that runs: iterate over it for each cell as it ends, await it for the whole. Both at once is fine; neither is needed for it to run. */
export interface NotebookRun extends AsyncIterable<CellResult>, PromiseLike<NotebookResult> {}

const RECORD_BYTES = 64 * 1_048_576;

/** Runs the code cells of a notebook in order. What is wrong with the notebook rejects; how a cell ends is a result. */
export function runNotebook(run: RunCode, source: NotebookSource, options: NotebookOptions = {}): NotebookRun {
  const queue = createResultQueue<CellResult>();
  const begun = deferred<void>();
  const result = begun.promise.then(() => runCells(run, parseNotebook(source, options.name), options, queue.push));
  result.then(
    () => queue.end(),
    (error: unknown) => queue.end(error),
  );
  queueMicrotask(begun.resolve); // whoever iterates does so before the first cell
  return {
    // biome-ignore lint/suspicious/noThenProperty: as with an execution
    then: (onResult, onError) => result.then(onResult, onError),
    [Symbol.asyncIterator]: () => queue.iterator(),
  };
}

async function runCells(
  run: RunCode,
  notebook: Notebook,
  options: NotebookOptions,
  push: (result: CellResult) => Promise<void>,
): Promise<NotebookResult> {
  const language = languageOf(notebook);
  const record = createRecord(RECORD_BYTES);
  const ends: CellEnd[] = [];
  const places = new Map<string, number>();
  const wanted = notebook.cells.flatMap((cell, index) => (hasCode(cell) ? [{ cell, index }] : []));
  for (const { cell, index } of wanted) {
    const code = cell.source.join('');
    const running: RunningCell = { index, number: ends.length + 1, source: code, tags: tagsOf(cell) };
    const cellOf = cellLanguage(cell, language);
    const execution = run(code, executionOptions(running, cellOf, options));
    const [result] = await Promise.all([execution, options.onCell?.(running, execution)]);
    const ended = { ...running, result, failed: isFailure(result.outcome, running.tags) };
    places.set(record.add(code, result).id, index);
    ends.push(endOf(ended));
    await push(ended);
    if (isLast(ended, options)) break;
  }
  const ran = new Map(record.executions().map((entry): [number, RecordedExecution] => [places.get(entry.id)!, entry]));
  return {
    ok: ends.every(({ failed }) => !failed),
    cells: ends,
    cellsNotRun: wanted.length - ends.length,
    notebook: executedNotebook(notebook, ran),
  };
}

function hasCode(cell: Notebook['cells'][number]): cell is CodeCell {
  return cell.cell_type === 'code' && cell.source.some((line) => line.trim() !== '');
}

function executionOptions(cell: RunningCell, language: string, options: NotebookOptions): ExecutionOptions {
  return {
    language,
    filename: `<${options.name === undefined ? '' : `${options.name} `}cell ${cell.number}>`,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
  };
}

/** Only an exception is what `raises-exception` allows: a kernel that died has taken the variables with it. */
function isFailure(outcome: Outcome, tags: readonly string[]): boolean {
  if (outcome.kind === 'ok') return false;
  if (outcome.kind === 'raised') return !tags.includes('raises-exception');
  return !(outcome.kind === 'exited' && outcome.exitCode === 0);
}

/** `sys.exit()` ends a notebook however it is run, and so does whoever withdraws it. */
function isLast({ result: { outcome }, failed }: CellResult, { keepGoing, signal }: NotebookOptions): boolean {
  return outcome.kind === 'exited' || signal?.aborted === true || (failed && keepGoing !== true);
}

function endOf({ index, number, failed, result }: CellResult): CellEnd {
  const { executionId, outcome, durationMs, state } = result;
  return { index, number, executionId, outcome, durationMs, state, failed };
}
