import type { Languages } from '../languages/table.ts';
import type { OutputLimits } from './collect.ts';
import type { CommandRun } from './command-run.ts';
import type { ExecutionEvent } from './events.ts';
import type { Turn } from './lanes.ts';
import type { ExecutionResult } from './result.ts';

/** One execution: iterate over it for what happens, await it for the result. Both at once is fine; neither is needed for it to run. */
export interface Execution extends AsyncIterable<ExecutionEvent>, PromiseLike<ExecutionResult> {
  readonly id: string;
  /** The beginning and the end of the output so far, as in the result. */
  partial(): PartialOutput;
  /** While the execution waits for its kernel: the work that has its turn there. */
  waitsFor(): Turn | undefined;
}

export interface PartialOutput {
  readonly stdout: string;
  readonly stderr: string;
}

export interface ExecutionOptions {
  /** Cancels the execution: its code is interrupted. Variables are kept where the code lets itself be interrupted. */
  readonly signal?: AbortSignal;
  /** The timeout, after which the outcome is `timed-out`. */
  readonly timeoutMs?: number;
  /** The tool or route that the call came through, for the audit log of a server. */
  readonly via?: string;
  /** `python` by default; `session.languages()` says which there are. */
  readonly language?: string;
  /** Shown in tracebacks. */
  readonly filename?: string;
  /** Whether the traceback of a failure shows the names and short values where it failed. */
  readonly tracebackLocals?: boolean;
  /** Whether to wait or to reject while another execution runs. */
  readonly busy?: 'wait' | 'refuse';
  /** Callback for the moment when the execution's turn has come. */
  readonly onBegin?: () => void;
}

export interface ExecutionPolicy {
  readonly defaultTimeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly maxCodeBytes: number;
  readonly languages: Languages;
  readonly output: OutputLimits;
}

/** A run of code: `execute` gets it, and whoever observes the runs of a session sees it. */
export interface Run {
  /** The id of the execution. */
  readonly id: string;
  readonly code: string;
  readonly options: ExecutionOptions;
  /** Where a program is run instead of code. `code` is its line then. */
  readonly command?: CommandRun;
}
