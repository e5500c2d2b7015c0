import type { ManagedExecution } from '../directory/directory.ts';
import type { ExecutionEvent } from '../execution/events.ts';
import type { PartialOutput } from '../execution/execution.ts';
import { sizeOf } from '../mcp/call-watch.ts';
import { shownError } from './error-response.ts';
import { endedOf, type LaterLine, laterLineOf, type RunLine } from './run-lines.ts';
import type { LineSender } from './send-lines.ts';

export interface StreamOptions {
  /** The client has left: its reader must not hold up an execution that goes on without it. */
  readonly gone?: AbortSignal;
  /** Output from before the client came, as it is to be shown. */
  readonly earlier?: () => PartialOutput;
}

/** Sends an execution in lines: its id, its output as it is printed, and how it ended. */
export async function streamExecution(
  execution: ManagedExecution,
  lines: LineSender,
  { gone, earlier }: StreamOptions = {},
): Promise<void> {
  const events = execution.events()[Symbol.asyncIterator](); // from its very beginning
  // In the same moment, so that nothing is missing between the two, and nothing comes twice.
  const before = earlier?.();
  const leave = () => void events.return?.();
  gone?.addEventListener('abort', leave, { once: true });
  if (gone?.aborted) leave();
  const send = (line: RunLine) => lines.send(sizeOf(line), () => line);
  try {
    await send({ execution_id: execution.id });
    for (const name of ['stdout', 'stderr'] as const) if (before?.[name]) await send({ [name]: before[name] });
    for (let line = await nextLine(events); line !== undefined; line = await nextLine(events)) {
      await lines.send(line.chars, line.make);
    }
    if (gone?.aborted) return;
    await send(endedOf(await execution.result));
  } catch (thrown) {
    await send({ error: shownError(thrown) });
  } finally {
    gone?.removeEventListener('abort', leave);
  }
  lines.end();
}

/** SECURITY: a separate function, so that no event is held while its line waits for a turn and for the reader. */
async function nextLine(events: AsyncIterator<ExecutionEvent>): Promise<LaterLine | undefined> {
  for (let step = await events.next(); step.done !== true; step = await events.next()) {
    const line = laterLineOf(step.value);
    if (line !== undefined) return line;
  }
  return undefined;
}
