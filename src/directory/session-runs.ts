import { type HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { Execution } from '../execution/execute.ts';
import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { InterruptionReason } from '../sandbox/outcome.ts';
import { createKeptExecutions, type KeptLimits } from './kept-executions.ts';
import type { KeptShare } from './kept-total.ts';
import { type ManagedExecution, manageExecution, type RunOptions } from './managed-execution.ts';
import type { RunWatch } from './run-notes.ts';

export interface RunsOptions {
  readonly start: (code: string, options: RunOptions) => Execution;
  readonly kept: KeptLimits;
  readonly keptShare: KeptShare;
  /** One more execution of this owner, or an error; what it gives back says that it has ended. */
  readonly admit: () => () => void;
  readonly onRefused: (execution: string, code: string, options: RunOptions, error: HotcellError) => void;
  readonly clock: Clock;
  /** What a withdrawal means when the session ended it. */
  readonly expired: (reason: InterruptionReason) => HotcellError;
}

/** What runs and ran in one session. */
export interface SessionRuns {
  run(code: string, options: RunOptions): ManagedExecution;
  /** Starts what did not come through `run`, the cell of a notebook, and counts it too. One that may not run rejects. */
  readonly count: RunWatch;
  get(id: string): ManagedExecution | undefined;
  all(): readonly ManagedExecution[];
  /** Ends all that run or wait. Resolves when they have ended. */
  end(reason: InterruptionReason): Promise<void>;
  /** The session is closed. */
  forget(): void;
}

export function createRuns(options: RunsOptions): SessionRuns {
  const { start, admit, onRefused, clock, expired } = options;
  const kept = createKeptExecutions(options.kept, options.keptShare);

  /** What to do when it has ended; or one that was never begun. */
  function admitted(code: string, options: RunOptions): (() => void) | ManagedExecution {
    try {
      return admit();
    } catch (thrown) {
      const error = toHotcellError(thrown);
      const refused = refusedExecution(error, new Date(clock.now()));
      onRefused(refused.id, code, options, error);
      return refused;
    }
  }

  function run(code: string, options: RunOptions): ManagedExecution {
    const leave = admitted(code, options);
    if (typeof leave !== 'function') return leave;
    const startCounted = (given: RunOptions) => start(code, { ...given, isCounted: true });
    const execution = manageExecution(startCounted, options, new Date(clock.now()), expired);
    execution.result.then(leave, leave);
    kept.add(execution, code.length);
    return execution;
  }

  function count(code: string, options: RunOptions, begin: (options: RunOptions) => Execution): Execution {
    if (options.isCounted) return begin(options);
    const leave = admitted(code, options);
    if (typeof leave !== 'function') return asExecution(leave);
    const execution = begin(options);
    execution.then(leave, leave);
    return execution;
  }

  return {
    run,
    count,
    get: kept.get,
    all: kept.all,
    forget: kept.forget,
    end: async (reason) => {
      const unfinished = kept.unfinished();
      for (const execution of unfinished) execution.end(reason);
      await Promise.allSettled(unfinished.map(({ result }) => result));
    },
  };
}

/** One that was never begun, so that every answer to `run` has the same form. Nobody finds it again. */
function refusedExecution(error: HotcellError, startedAt: Date): ManagedExecution {
  const result = Promise.reject(error);
  result.catch(() => {});
  return {
    id: newId('x'),
    startedAt,
    result,
    state: () => 'ended',
    partial: () => ({ stdout: '', stderr: '' }),
    // biome-ignore lint/correctness/useYield: it fails before it has anything to say
    events: async function* () {
      throw error;
    },
    cancel: () => {},
  };
}

function asExecution({ id, partial, result, events }: ManagedExecution): Execution {
  return {
    id,
    partial,
    // biome-ignore lint/suspicious/noThenProperty: an execution is awaited as often as it is iterated over
    then: (onResult, onError) => result.then(onResult, onError),
    [Symbol.asyncIterator]: () => events()[Symbol.asyncIterator](),
  };
}
