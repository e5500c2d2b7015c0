import type { Languages } from '../languages/table.ts';
import type { OutputLimits } from './collect.ts';
import type { CommandRun } from './command-run.ts';
import type { ExecutionEvent } from './events.ts';
import type { Turn } from './lanes.ts';
import type { ExecutionResult, PartialOutput } from './result.ts';

export type { PartialOutput } from './result.ts';

/**
 * One execution: iterate over it for its events, await it for its result. Both at once is fine; it runs without either.
 */
export interface Execution extends AsyncIterable<ExecutionEvent>, PromiseLike<ExecutionResult> {
  readonly id: string;
  /** Head and tail of the output so far, as in the result. */
  partial(): PartialOutput;
  /** The last `chars` characters of each stream, at a cost that does not depend on the rest. */
  tail(chars: number): PartialOutput;
  /** About the number of bytes that `partial` decodes, for callers that wait for a turn before. */
  outputBytes(): number;
  /** The work that occupies the kernel while this execution waits for it. */
  waitsFor(): Turn | undefined;
}

export interface ExecutionOptions {
  /** Signal that cancels the execution by an interrupt. Variables are kept if the code handles the interrupt. */
  readonly signal?: AbortSignal;
  /** The timeout, after which the outcome is `timed-out`. */
  readonly timeoutMs?: number;
  /** The tool or route that the call came through, for the audit log of a server. */
  readonly via?: string;
  /** Language of the code, `python` by default; `session.languages()` lists them. */
  readonly language?: string;
  /** File name shown in tracebacks. */
  readonly filename?: string;
  /** Whether the traceback of a failure shows local names and short values. */
  readonly tracebackLocals?: boolean;
  /** Environment variables that hold during this execution alone. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether to wait or to reject while another execution runs. */
  readonly busy?: 'wait' | 'refuse';
  /** Callback for the moment when the execution's turn has come. */
  readonly onBegin?: () => void;
}

export interface ExecutionPolicy {
  readonly defaultTimeoutMs: number;
  readonly maxTimeoutMs: number;
  /** How long calls may pause the timeout of one execution, in total. */
  readonly maxPausedMs: number;
  readonly maxCodeBytes: number;
  readonly languages: Languages;
  readonly output: OutputLimits;
}

/** A run of code: `execute` runs it, and the observers of a session see it. */
export interface Run {
  /** The id of the execution. */
  readonly id: string;
  readonly code: string;
  readonly options: ExecutionOptions;
  /** The command, if a program is run instead of code. `code` is its command line then. */
  readonly command?: CommandRun;
}
