import { type HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { CommandControl } from '../execution/command.ts';
import type { ExecutionEvent } from '../execution/events.ts';
import type { ExecutionOptions, PartialOutput } from '../execution/execution.ts';
import type { Turn } from '../execution/lanes.ts';
import type { ObservedExecution } from '../execution/observe-runs.ts';
import type { ExecutionResult } from '../execution/result.ts';
import type { InterruptionReason } from '../sandbox/outcome.ts';

/** One execution of a server. Several calls can read its result, its events or its output so far. */
export interface ManagedExecution {
  readonly id: string;
  /** When the execution was asked for. */
  readonly startedAt: Date;
  /** Rejects with a HotcellError where Hotcell could not run the code. The rejection need not be handled. */
  readonly result: Promise<ExecutionResult>;
  state(): 'waiting' | 'running' | 'ended';
  /** The work that occupies the kernel while this execution waits for it. */
  waitsFor(): Turn | undefined;
  /** Head and tail of the output so far. */
  partial(): PartialOutput;
  /** The last `chars` characters of each stream, at a cost that does not depend on the rest. */
  tail(chars: number): PartialOutput;
  /** About the number of bytes that `partial` decodes. */
  outputBytes(): number;
  /** Events from now on. Several readers may iterate; the slowest applies backpressure to the execution. */
  events(): AsyncIterable<ExecutionEvent>;
  /** Interrupts the execution, or withdraws it while it waits. */
  cancel(): void;
  /** What runs, unless it is a command. */
  readonly source?: { readonly code: string; readonly language: string };
  /** Input and signals of a command, for callers that find it by id. */
  readonly command?: CommandControl & { readonly line: string; readonly hasTerminal: boolean };
}

/** A command of a server. */
export type ManagedCommand = ManagedExecution & CommandControl;

/** A managed execution as its session sees it. */
export interface EndableExecution extends ManagedExecution {
  readonly isRefused: boolean;
  /** Ends the execution, with the reason in its outcome. */
  end(reason: InterruptionReason): void;
}

/** The facts of an execution that are known before it starts. */
export interface Beginning {
  readonly startedAt: Date;
  readonly notBegun: (reason: InterruptionReason) => HotcellError;
}

/**
 * Starts an execution and tracks its state. `notBegun` makes the error of an execution that had not begun when its
 * session ended.
 */
export function manageExecution(
  start: (options: ExecutionOptions) => ObservedExecution,
  { signal, onBegin, ...options }: ExecutionOptions,
  { startedAt, notBegun }: Beginning,
): EndableExecution {
  const stop = new AbortController();
  let state: ReturnType<ManagedExecution['state']> = 'waiting';
  let endedBy: InterruptionReason | undefined;
  const cancel = () => stop.abort();
  // The listener is removed with the execution: some callers abort their signal after every success.
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted === true) cancel();
  const execution = start({
    ...options,
    signal: stop.signal,
    onBegin: () => {
      state = 'running';
      onBegin?.();
    },
  });
  if (execution.isRefused) state = 'ended';
  const result = settle();
  result.catch(() => {});

  async function settle(): Promise<ExecutionResult> {
    try {
      const found = await execution;
      return endedBy === undefined ? found : withReason(found, endedBy);
    } catch (thrown) {
      const error = toHotcellError(thrown);
      throw endedBy !== undefined && error.code === 'cancelled' ? notBegun(endedBy) : error;
    } finally {
      state = 'ended';
      signal?.removeEventListener('abort', cancel);
    }
  }

  return {
    id: execution.id,
    isRefused: execution.isRefused,
    startedAt,
    result,
    state: () => state,
    waitsFor: () => execution.waitsFor(),
    partial: () => execution.partial(),
    tail: (chars) => execution.tail(chars),
    outputBytes: () => execution.outputBytes(),
    events: () => ({ [Symbol.asyncIterator]: () => execution[Symbol.asyncIterator]() }),
    cancel,
    end: (reason) => {
      endedBy = reason;
      stop.abort();
    },
  };
}

function withReason(result: ExecutionResult, reason: InterruptionReason): ExecutionResult {
  if (result.outcome.kind !== 'interrupted') return result;
  return { ...result, outcome: { kind: 'interrupted', reason } };
}
