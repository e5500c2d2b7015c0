import { expect, test } from 'vitest';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { Execution, Run } from './execution.ts';
import { observeRuns, type RunObserver } from './observe-runs.ts';
import { refusedExecution } from './refused-execution.ts';
import type { ExecutionResult } from './result.ts';

const RESULT = { executionId: 'x-1', stdout: 'hello' } as ExecutionResult;

function watch(log: string[], name: string): RunObserver {
  return ({ code }) => {
    log.push(`${name} asked ${code}`);
    return {
      started: () => log.push(`${name} started`),
      ended: ({ stdout }) => log.push(`${name} ended ${stdout}`),
      failed: ({ code: error }) => log.push(`${name} failed ${error}`),
    };
  };
}

/** An execution that begins at once and ends with `result`, or fails. */
function executionOf({ id, options }: Run, result: Promise<ExecutionResult>): Execution {
  options.onBegin?.();
  return {
    ...refusedExecution(id, new HotcellError('internal', '')),
    // biome-ignore lint/suspicious/noThenProperty: an execution is awaited
    then: (done, failed) => result.then(done, failed),
  };
}

test('every observer sees a run begin and end, in the order of the list', async () => {
  const log: string[] = [];
  const run = observeRuns([watch(log, 'audit'), watch(log, 'record')], (one) =>
    executionOf(one, Promise.resolve(RESULT)),
  );
  const execution = run('1', { onBegin: () => log.push('caller told') });
  expect(await execution).toBe(RESULT);
  expect(execution.isRefused).toBe(false);
  expect(log).toEqual([
    ...['audit asked 1', 'record asked 1', 'audit started', 'record started', 'caller told'],
    ...['audit ended hello', 'record ended hello'],
  ]);
});

test('an observer that refuses prevents the run; the observers before it are notified', async () => {
  const log: string[] = [];
  const refuse: RunObserver = () => {
    throw new HotcellError('too_many_executions', 'your limit');
  };
  const run = observeRuns([watch(log, 'audit'), refuse, watch(log, 'record')], () => {
    throw new Error('started all the same');
  });
  const execution = run('1');
  await expect(execution).rejects.toMatchObject({ code: 'too_many_executions' });
  await expect(execution[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'too_many_executions' });
  expect(execution.isRefused).toBe(true);
  expect(log).toEqual(['audit asked 1', 'audit failed too_many_executions']);
});

test('a run that Hotcell cannot finish fails for every observer once', async () => {
  const log: string[] = [];
  const lost = Promise.reject(new HotcellError('session_closed', 'gone'));
  const run = observeRuns([watch(log, 'audit')], (one) => executionOf(one, lost));
  await expect(run('1')).rejects.toMatchObject({ code: 'session_closed' });
  expect(log).toEqual(['audit asked 1', 'audit started', 'audit failed session_closed']);
});
