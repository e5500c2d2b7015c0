import type { ManagedExecution, ManagedSession } from '../directory/directory.ts';
import type { ExecutionEvent } from '../execution/events.ts';
import { clip } from '../lib/clip.ts';
import { shownError } from './error-response.ts';
import { laterLineOf } from './run-lines.ts';
import type { LineSender } from './send-lines.ts';
import { createWatchQueue, type QueuedLine } from './watch-queue.ts';

/** How far a client may be behind before lines are dropped. */
const MOST_QUEUED_CHARS = 1_048_576;
/** How much of the code, of a value, and of earlier output is sent. */
const MOST_CODE_CHARS = 20_000;
const EARLIER_CHARS = 8_192;

/**
 * Sends everything that runs in a session, from now on, until the client leaves or the session is closed. Commands with
 * a terminal are left out: their output is a screen, not text.
 */
export async function watchSession(session: ManagedSession, lines: LineSender, gone: AbortSignal): Promise<void> {
  const queue = createWatchQueue(MOST_QUEUED_CHARS);
  const reading = new Set<AsyncIterator<ExecutionEvent>>();
  gone.addEventListener('abort', queue.end, { once: true });
  if (gone.aborted) queue.end();
  const { driver, level } = session.session.isolation;
  push({ chars: 0, make: () => ({ session: { session_id: session.id, driver, level } }) });
  for (const execution of session.executions()) if (execution.state() !== 'ended') void follow(execution);
  using _ = session.watch({
    asked: (execution) => void follow(execution),
    closed: () => {
      push({ chars: 0, make: () => ({ closed: true }) });
      queue.end();
    },
  });
  for (let line = await queue.next(); line !== undefined; line = await queue.next()) {
    await lines.send(line.chars, line.make);
  }
  for (const events of reading) void events.return?.();
  gone.removeEventListener('abort', queue.end);
  lines.end();

  function push(line: QueuedLine): void {
    queue.push(line);
  }

  async function follow(execution: ManagedExecution): Promise<void> {
    const { id, command, source } = execution;
    if (command?.hasTerminal) return;
    const events = execution.events()[Symbol.asyncIterator]();
    reading.add(events);
    const code = clip(source?.code ?? command?.line ?? '', MOST_CODE_CHARS).text;
    const language = source?.language ?? 'shell';
    push({ chars: code.length, make: () => ({ execution_id: id, asked: { code, language } }) });
    // In the same moment as the events, so that nothing is missing between the two, and nothing comes twice.
    for (const [name, text] of Object.entries(execution.tail(EARLIER_CHARS))) {
      if (typeof text === 'string' && text !== '')
        push({ chars: text.length, make: () => ({ execution_id: id, [name]: text }) });
    }
    try {
      for (let step = await events.next(); step.done !== true; step = await events.next()) {
        const line = watchedLine(step.value);
        if (line !== undefined) push({ chars: line.chars, make: () => ({ execution_id: id, ...line.make() }) });
      }
      const { outcome } = await execution.result;
      push({ chars: JSON.stringify(outcome).length, make: () => ({ execution_id: id, ended: { outcome } }) });
    } catch (thrown) {
      push({ chars: 0, make: () => ({ execution_id: id, error: shownError(thrown) }) });
    } finally {
      reading.delete(events);
    }
  }
}

function watchedLine(event: ExecutionEvent): QueuedLine | undefined {
  if (event.kind !== 'value') return laterLineOf(event);
  const { text } = clip(event.text, MOST_CODE_CHARS);
  return { chars: text.length, make: () => ({ value: text }) };
}
