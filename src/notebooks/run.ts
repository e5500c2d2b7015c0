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
  /** A signal that interrupts the running cell and ends the run. */
  readonly signal?: AbortSignal;
  /** The time limit of each cell. */
  readonly timeoutMs?: number;
  /** Whether to continue after a cell that fails. */
  readonly keepGoing?: boolean;
  /** The name of the notebook in tracebacks and errors. */
  readonly name?: string;
  /** Callback at the start of each cell; the next cell waits for its promise. */
  readonly onCell?: (cell: RunningCell, execution: Execution) => void | Promise<void>;
}

export interface RunningCell {
  /** The index of the cell in the notebook, from 0. */
  readonly index: number;
  /** The number of the cell among the executed ones, from 1. */
  readonly number: number;
  readonly source: string;
  readonly tags: readonly string[];
}

export interface CellResult extends RunningCell {
  readonly result: ExecutionResult;
  /** Whether the cell failed. A cell tagged `raises-exception` may raise. */
  readonly failed: boolean;
}

/** How one cell ended, without its output, which is in the notebook. */
export interface CellEnd extends Pick<RunningCell, 'index' | 'number'>, Pick<ExecutionResult, 'durationMs' | 'state'> {
  readonly executionId: string;
  readonly outcome: Outcome;
  readonly failed: boolean;
}

export interface NotebookResult {
  /** Whether no cell failed. */
  readonly ok: boolean;
  readonly cells: readonly CellEnd[];
  /** The number of code cells that were not reached. */
  readonly cellsNotRun: number;
  /** The notebook with its new outputs. Outputs beyond 64 MiB are dropped, oldest first, and the notebook says so. */
  readonly notebook: Notebook;
}

/**
 * A running notebook: iterate over it for each cell as it ends, or await it for the whole result. Both may be combined;
 * it runs without either.
 */
export interface NotebookRun extends AsyncIterable<CellResult>, PromiseLike<NotebookResult> {}

const RECORD_BYTES = 64 * 1_048_576;

/** Runs the code cells of a notebook in order. An invalid notebook rejects; the end of a cell is a result. */
export function runNotebook(run: RunCode, source: NotebookSource, options: NotebookOptions = {}): NotebookRun {
  const queue = createResultQueue<CellResult>();
  const begun = deferred<void>();
  const result = begun.promise.then(() => runCells(run, parseNotebook(source, options.name), options, queue.push));
  result.then(
    () => queue.end(),
    (error: unknown) => queue.end(error),
  );
  queueMicrotask(begun.resolve); // a consumer can start to iterate before the first cell
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

/** `raises-exception` allows only an exception: a kernel that died has lost the variables. */
function isFailure(outcome: Outcome, tags: readonly string[]): boolean {
  if (outcome.kind === 'ok') return false;
  if (outcome.kind === 'raised') return !tags.includes('raises-exception');
  return !(outcome.kind === 'exited' && outcome.exitCode === 0);
}

/** `sys.exit()` and an abort end a notebook, even with `keepGoing`. */
function isLast({ result: { outcome }, failed }: CellResult, { keepGoing, signal }: NotebookOptions): boolean {
  return outcome.kind === 'exited' || signal?.aborted === true || (failed && keepGoing !== true);
}

function endOf({ index, number, failed, result }: CellResult): CellEnd {
  const { executionId, outcome, durationMs, state } = result;
  return { index, number, executionId, outcome, durationMs, state, failed };
}
