import { type HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { Execution } from '../execution/execute.ts';
import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { InterruptionReason } from '../sandbox/outcome.ts';
import { createKeptExecutions, type KeptLimits } from './kept-executions.ts';
import { type ManagedExecution, manageExecution, type RunOptions } from './managed-execution.ts';

export interface RunsOptions {
  readonly start: (code: string, options: RunOptions) => Execution;
  readonly kept: KeptLimits;
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
  get(id: string): ManagedExecution | undefined;
  all(): readonly ManagedExecution[];
  /** Ends all that run or wait. Resolves when they have ended. */
  end(reason: InterruptionReason): Promise<void>;
}

export function createRuns({ start, kept: limits, admit, onRefused, clock, expired }: RunsOptions): SessionRuns {
  const kept = createKeptExecutions(limits);

  function run(code: string, options: RunOptions): ManagedExecution {
    const startedAt = new Date(clock.now());
    let leave: () => void;
    try {
      leave = admit();
    } catch (thrown) {
      const error = toHotcellError(thrown);
      const refused = refusedExecution(error, startedAt);
      onRefused(refused.id, code, options, error);
      return refused;
    }
    const execution = manageExecution((given) => start(code, given), options, startedAt, expired);
    execution.result.then(leave, leave);
    kept.add(execution, code.length);
    return execution;
  }

  return {
    run,
    get: kept.get,
    all: kept.all,
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
