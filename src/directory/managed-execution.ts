import { type HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { ExecutionEvent } from '../execution/events.ts';
import type { Execution, ExecutionOptions, PartialOutput } from '../execution/execute.ts';
import type { ExecutionResult } from '../execution/result.ts';
import type { InterruptionReason } from '../sandbox/outcome.ts';

/** Options of an execution in a server. */
export interface RunOptions extends ExecutionOptions {
  /** The tool or route it came through, for the audit log. */
  readonly via?: string;
  /** It has its place among those of its owner already. Set by the directory alone. */
  readonly isCounted?: true;
}

/** One execution: awaitable, iterable, and readable meanwhile. */
export interface ManagedExecution {
  readonly id: string;
  /** When it was asked for. */
  readonly startedAt: Date;
  /** Rejects with a HotcellError where Hotcell could not run it. Nobody has to listen. */
  readonly result: Promise<ExecutionResult>;
  state(): 'waiting' | 'running' | 'ended';
  /** Head and tail of what was printed so far. */
  partial(): PartialOutput;
  /** What happens from now on. Several may iterate; the slowest sets the pace. */
  events(): AsyncIterable<ExecutionEvent>;
  /** Interrupts it, or withdraws it while it waits. */
  cancel(): void;
}

/** What the directory can do beyond its callers: say why it ended an execution. */
export interface EndableExecution extends ManagedExecution {
  end(reason: InterruptionReason): void;
}

/** Starts an execution by `start` and keeps hold of it. Called by a managed session. */
export function manageExecution(
  start: (options: RunOptions) => Execution,
  { signal, onBegin, ...options }: RunOptions,
  startedAt: Date,
  /** What a withdrawal means when the session ended it. */
  ended: (reason: InterruptionReason) => HotcellError,
): EndableExecution {
  const stop = new AbortController();
  let state: 'waiting' | 'running' | 'ended' = 'waiting';
  let endedBy: InterruptionReason | undefined;
  const cancel = () => stop.abort();
  // The listener goes with the execution: some callers abort their signal after every success.
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
  const result = settle();
  result.catch(() => {});

  async function settle(): Promise<ExecutionResult> {
    try {
      const found = await execution;
      return endedBy === undefined ? found : withReason(found, endedBy);
    } catch (thrown) {
      const error = toHotcellError(thrown);
      throw endedBy !== undefined && error.code === 'cancelled' ? ended(endedBy) : error;
    } finally {
      state = 'ended';
      signal?.removeEventListener('abort', cancel);
    }
  }

  return {
    id: execution.id,
    startedAt,
    result,
    state: () => state,
    partial: () => execution.partial(),
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
