import type { HotcellError } from '../errors/hotcell-error.ts';
import type { Execution } from './execution.ts';

/**
 * An execution that was never started, so that every run has the same form. Awaiting it and iterating over it both fail
 * with `error`.
 */
export function refusedExecution(id: string, error: HotcellError): Execution {
  const result = Promise.reject(error);
  result.catch(() => {});
  return {
    id,
    waitsFor: () => undefined,
    partial: () => ({ stdout: '', stderr: '' }),
    tail: () => ({ stdout: '', stderr: '' }),
    outputBytes: () => 0,
    // biome-ignore lint/suspicious/noThenProperty: an execution can be awaited and iterated over
    then: (onResult, onError) => result.then(onResult, onError),
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }),
  };
}
