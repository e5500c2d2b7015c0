import { type HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import { newId } from '../lib/ids.ts';
import type { CommandRun } from './command-run.ts';
import type { Execution, ExecutionOptions, Run } from './execution.ts';
import { refusedExecution } from './refused-execution.ts';
import type { ExecutionResult } from './result.ts';

/**
 * Watches every run of one session, cells of notebooks included: the audit log, admission, the record for notebooks. Called before the run starts; throws
 * to refuse it. Hooks must not throw.
 */
export type RunObserver = (run: Run) => RunHooks | undefined;

/** The rest of a run, as one observer sees it. Exactly one of `ended` and `failed` is called, once. */
export interface RunHooks {
  /** The run's turn has come: its code starts now. */
  started?(): void;
  ended?(result: ExecutionResult): void;
  /** A later observer refused the run, or Hotcell could not run it. */
  failed?(error: HotcellError): void;
}

/** Starts a run in a session. Everything that runs code in one calls the same `RunCode`. */
export type RunCode = (code: string, options?: ExecutionOptions, command?: CommandRun) => ObservedExecution;

export interface ObservedExecution extends Execution {
  /** An observer refused the run: nothing of it was started. */
  readonly isRefused: boolean;
}

/** Assembles how a session runs code: `observers` in their order around `start`. A refusal is an execution too, one that rejects. */
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
