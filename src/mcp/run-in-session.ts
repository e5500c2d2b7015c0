import type { ManagedExecution, ManagedSession } from '../directory/directory.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import { deferred } from '../lib/deferred.ts';
import { READER_LEFT } from './call-watch.ts';
import type { ToolCall, ToolReply } from './define-tool.ts';
import type { ExecutionOutput } from './present/execution-output.ts';
import { endedReply, unendedReply } from './present/execution-reply.ts';
import { latestOutput } from './present/latest-output.ts';
import { resultBytes } from './result-bytes.ts';

/**
 * Runs an execution for a call: in the background, or until it ends. Cancelling the call interrupts the execution; the
 * session keeps its state.
 */
export async function runInSession(
  managed: ManagedSession,
  execution: ManagedExecution,
  isBackground: boolean,
  call: ToolCall,
): Promise<ToolReply<ExecutionOutput>> {
  // A refused execution has ended already. Reply with its error now: get_execution would not find it.
  if (isBackground && execution.state() !== 'ended') {
    execution.result.catch(() => {}); // get_execution reports the error
    return unendedReply(managed, execution, call.deps);
  }
  return cancelledWith(call.signal, execution, async () => {
    call.reportWith(() => latestOutput(execution));
    const result = await execution.result;
    await call.turn(resultBytes(result));
    return endedReply(managed, execution, result, call.deps);
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
