import type { HotcellError } from '../errors/hotcell-error.ts';
import type { CommandOptions } from '../execution/command.ts';
import type { ExecutionOptions } from '../execution/execution.ts';
import type { RunCode } from '../execution/observe-runs.ts';
import type { Clock } from '../lib/clock.ts';
import { memoryCost } from '../lib/memory-cost.ts';
import type { InterruptionReason } from '../sandbox/outcome.ts';
import { createKeptExecutions, type KeptLimits } from './kept-executions.ts';
import type { KeptShare } from './kept-total.ts';
import { manageCommand } from './managed-command.ts';
import {
  type EndableExecution,
  type ManagedCommand,
  type ManagedExecution,
  manageExecution,
} from './managed-execution.ts';

export interface KeptRunsOptions {
  readonly run: RunCode;
  readonly limits: KeptLimits;
  readonly share: KeptShare;
  readonly clock: Clock;
  /** Makes the error of an execution that had not begun when its session ended. */
  readonly notBegun: (reason: InterruptionReason) => HotcellError;
}

/** The executions of one session that a client can find again by id. */
export interface KeptRuns {
  run(code: string, options: ExecutionOptions): ManagedExecution;
  command(line: string | readonly string[], options: CommandOptions): ManagedCommand;
  get(id: string): ManagedExecution | undefined;
  all(): readonly ManagedExecution[];
  /** Ends all executions that run or wait. Resolves when they have ended. */
  end(reason: InterruptionReason): Promise<void>;
  /** Reports every execution from now on, until it is disposed of or the session is closed. */
  watch(watcher: RunWatcher): Disposable;
  /** Forgets all executions, because the session is closed. */
  forget(): void;
}

/** A reader of everything that runs in a session. Its callbacks must not throw. */
export interface RunWatcher {
  asked(execution: ManagedExecution): void;
  /** The session is closed; nothing more comes. */
  closed(): void;
}

export function createKeptRuns({ run, limits, share, clock, notBegun }: KeptRunsOptions): KeptRuns {
  const kept = createKeptExecutions(limits, share);
  const watchers = new Set<RunWatcher>();
  const begin = () => ({ startedAt: new Date(clock.now()), notBegun });

  function keep<T extends EndableExecution>(execution: T, heldBytes: number): T {
    // SECURITY: refused executions are not kept, so that an owner at its quota cannot fill the memory with them.
    if (execution.isRefused) return execution;
    kept.add(execution, heldBytes);
    for (const watcher of watchers) watcher.asked(execution);
    return execution;
  }

  return {
    run: (code, options) =>
      keep(
        {
          ...manageExecution((given) => run(code, given), options, begin()),
          source: { code, language: options.language ?? 'python' },
        },
        memoryCost(code),
      ),
    command: (line, options) => {
      const managed = manageCommand(run, line, options, begin());
      return keep(managed, memoryCost([line, options.cwd, options.environment]));
    },
    get: kept.get,
    all: kept.all,
    watch: (watcher) => {
      watchers.add(watcher);
      return { [Symbol.dispose]: () => void watchers.delete(watcher) };
    },
    forget: () => {
      kept.forget();
      for (const watcher of watchers) watcher.closed();
      watchers.clear();
    },
    end: async (reason) => {
      const unfinished = kept.unfinished();
      for (const execution of unfinished) execution.end(reason);
      await Promise.allSettled(unfinished.map(({ result }) => result));
    },
  };
}
