import { type HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import { newId } from '../lib/ids.ts';
import type { CommandRun } from './command-run.ts';
import type { Execution, ExecutionOptions, Run } from './execution.ts';
import { refusedExecution } from './refused-execution.ts';
import type { ExecutionResult } from './result.ts';

/**
 * An observer of every run of one session, cells of notebooks included: the audit log, admission, the record for
 * notebooks. Called before the run starts; throws to refuse it. Its hooks must not throw.
 */
export type RunObserver = (run: Run) => RunHooks | undefined;

/** Callbacks for the rest of a run. Exactly one of `ended` and `failed` is called, once. */
export interface RunHooks {
  /** Called when the run's turn has come and its code starts. */
  started?(): void;
  ended?(result: ExecutionResult): void;
  /** Called when a later observer refused the run, or Hotcell could not run it. */
  failed?(error: HotcellError): void;
}

/** Starts a run in a session. All code of a session runs through its one `RunCode`. */
export type RunCode = (code: string, options?: ExecutionOptions, command?: CommandRun) => ObservedExecution;

export interface ObservedExecution extends Execution {
  /** Whether an observer refused the run, so that nothing was started. */
  readonly isRefused: boolean;
}

/**
 * Builds the `RunCode` of a session: `observers` in order around `start`. A refusal returns an execution that rejects.
 */
export function observeRuns(observers: readonly RunObserver[], start: (run: Run) => Execution): RunCode {
  return (code, options = {}, command) => {
    const run: Run = { id: newId('x'), code, options, ...(command === undefined ? {} : { command }) };
    const hooks: RunHooks[] = [];
    const failed = (thrown: unknown) => {
      const error = toHotcellError(thrown);
      for (const hook of hooks) hook.failed?.(error);
      return error;
    };
    try {
      for (const observer of observers) hooks.push(observer(run) ?? {});
    } catch (thrown) {
      command?.ended();
      return { ...refusedExecution(run.id, failed(thrown)), isRefused: true };
    }
    const onBegin = () => {
      for (const hook of hooks) hook.started?.();
      options.onBegin?.();
    };
    const execution = start({ ...run, options: { ...options, onBegin } });
    execution.then((result) => {
      for (const hook of hooks) hook.ended?.(result);
    }, failed);
    return { ...execution, isRefused: false };
  };
}
