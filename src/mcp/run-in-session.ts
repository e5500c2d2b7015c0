import type { ManagedExecution, ManagedSession } from '../directory/directory.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import { deferred } from '../lib/deferred.ts';
import { READER_LEFT } from './call-watch.ts';
import type { ToolCall, ToolReply } from './define-tool.ts';
import type { ExecutionOutput } from './present/execution-output.ts';
import { endedReply, unendedReply } from './present/execution-reply.ts';
import { latestOutput } from './present/latest-output.ts';
import { resultBytes } from './result-bytes.ts';
import type { RunPlan } from './run-plan.ts';
import { waitForEnd } from './wait-for-end.ts';

/**
 * Runs an execution for a call, until it ends or the call has to be answered: then the execution continues in the
 * background. While the call waits, cancelling it interrupts the execution; the session keeps its state.
 */
export async function runInSession(
  managed: ManagedSession,
  execution: ManagedExecution,
  { waitMs }: RunPlan,
  call: ToolCall,
): Promise<ToolReply<ExecutionOutput>> {
  // A refused execution has ended already. Reply with its error now: get_execution would not find it.
  if (waitMs === 0 && execution.state() !== 'ended') return inBackground('Started in the background.');
  const turn = execution.waitsFor();
  const askedAt = performance.now();

  function inBackground(what: string): ToolReply<ExecutionOutput> {
    execution.result.catch(() => {}); // get_execution reports the error
    return unendedReply(managed, execution, call.deps, what);
  }

  return cancelledWith(call.signal, execution, async () => {
    call.reportWith(() => latestOutput(execution));
    // The client's clock runs since it sent the call: opening the session took its share.
    await waitForEnd(execution, Math.max(1, waitMs - (performance.now() - call.startedAt)));
    if (execution.state() === 'ended') {
      await call.turn(resultBytes(await execution.result));
      return endedReply(managed, execution, call, { turn, askedAt });
    }
    await call.turn(execution.outputBytes());
    return inBackground(`Still running after ${waitMs / 1000} s, so it continues in the background.`);
  });
}

/**
 * Runs `work` while the signal can cancel the execution. If only the reader of the answer disconnected, the call ends
 * and the execution goes on. SECURITY: the listener is removed with the work: over HTTP the signal is aborted after
 * every answered call, and would interrupt a later run.
 */
export async function cancelledWith<T>(
  signal: AbortSignal,
  execution: ManagedExecution,
  work: () => Promise<T>,
): Promise<T> {
  const left = deferred<never>();
  left.promise.catch(() => {});
  const cancel = () => {
    if (signal.reason === READER_LEFT) left.reject(new HotcellError('cancelled', READER_LEFT));
    else execution.cancel();
  };
  if (signal.aborted) cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await Promise.race([work(), left.promise]);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
