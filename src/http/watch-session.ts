import type { ManagedExecution, ManagedSession } from '../directory/directory.ts';
import type { ExecutionEvent } from '../execution/events.ts';
import { clip } from '../lib/clip.ts';
import { ownString } from '../lib/own-string.ts';
import { shownError } from './error-response.ts';
import { endedOf, type LaterLine, laterLineOf, type RunLine } from './run-lines.ts';
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
    const { id, command } = execution;
    if (command?.hasTerminal) return;
    const events = execution.events()[Symbol.asyncIterator]();
    reading.add(events);
    push(askedLine(execution));
    // In the same moment as the events, so that nothing is missing between the two, and nothing comes twice.
    const { stdout, stderr } = execution.tail(EARLIER_CHARS);
    if (stdout !== '') push(textLine(id, 'stdout', ownString(stdout)));
    if (stderr !== '') push(textLine(id, 'stderr', ownString(stderr)));
    try {
      for (let step = await events.next(); step.done !== true; step = await events.next()) {
        const line = watchedLine(id, step.value);
        if (line !== undefined) push(line);
      }
      push(endedLine(id, endedOf(await execution.result)));
    } catch (thrown) {
      push(errorLine(id, thrown));
    } finally {
      reading.delete(events);
    }
  }
}

/*
 * SECURITY: each line is made by a function of its own, so that a line that waits keeps nothing alive but its own text.
 * Closures of one function share its variables: the code of an execution would be kept as long as its last line.
 */

function askedLine({ id, source, command }: ManagedExecution): QueuedLine {
  const code = ownString(clip(source?.code ?? command?.line ?? '', MOST_CODE_CHARS).text);
  return codeLine(id, code, source?.language ?? 'shell');
}

function codeLine(id: string, code: string, language: string): QueuedLine {
  return { chars: code.length, make: () => ({ execution_id: id, asked: { code, language } }) };
}

function textLine(id: string, kind: 'stdout' | 'stderr' | 'value', text: string): QueuedLine {
  return { chars: text.length, make: () => ({ execution_id: id, [kind]: text }) };
}

function endedLine(id: string, ended: RunLine): QueuedLine {
  return { chars: JSON.stringify(ended).length, make: () => ({ execution_id: id, ...ended }) };
}

function errorLine(id: string, thrown: unknown): QueuedLine {
  return { chars: 0, make: () => ({ execution_id: id, error: shownError(thrown) }) };
}

function watchedLine(id: string, event: ExecutionEvent): QueuedLine | undefined {
  if (event.kind === 'value') return textLine(id, 'value', ownString(clip(event.text, MOST_CODE_CHARS).text));
  const line = laterLineOf(event);
  return line === undefined ? undefined : namedLine(id, line);
}

function namedLine(id: string, { chars, make }: LaterLine): QueuedLine {
  return { chars, make: () => ({ execution_id: id, ...make() }) };
}
