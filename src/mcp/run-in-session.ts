import type { ManagedExecution, ManagedSession, RunOptions } from '../directory/directory.ts';
import type { ToolCall, ToolReply } from './define-tool.ts';
import type { ExecutionOutput } from './present/execution-output.ts';
import { endedReply, unendedReply } from './present/execution-reply.ts';
import { latestOutput } from './present/latest-output.ts';

/** Runs code for a call: in the background, or until it ends. A call that is withdrawn interrupts its run; the session keeps its state. */
export async function runInSession(
  managed: ManagedSession,
  code: string,
  options: RunOptions,
  call: ToolCall,
  isBackground: boolean,
): Promise<ToolReply<ExecutionOutput>> {
  const execution = managed.run(code, options);
  // One that was refused has ended already: it is told now, because nobody finds it again.
  if (isBackground && execution.state() !== 'ended') {
    execution.result.catch(() => {}); // get_execution tells
    return unendedReply(managed, execution, call.deps);
  }
  return cancelledWith(call.signal, execution, async () => {
    call.reportWith(() => latestOutput(execution));
    return endedReply(managed, execution, await execution.result, call.deps);
  });
}

/** `work` while the signal can cancel the execution. SECURITY: not longer: over HTTP the signal fires after every answered call, and would interrupt whatever runs then. */
export async function cancelledWith<T>(
  signal: AbortSignal,
  execution: ManagedExecution,
  work: () => Promise<T>,
): Promise<T> {
  const cancel = () => execution.cancel();
  if (signal.aborted) cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await work();
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
