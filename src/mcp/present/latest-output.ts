import type { ManagedExecution } from '../../directory/directory.ts';
import { visibleJson } from '../../lib/visible-json.ts';
import { waitingText } from './waiting-text.ts';

const CHARS = 300;

/** The part of the output in which the last characters are looked for: spaces may follow them. */
const LOOKED_AT_CHARS = 4_096;
/** How long a text is shown to all watchers of an execution. */
const SHARED_MS = 500;
const shared = new WeakMap<ManagedExecution, { readonly text: string; readonly until: number }>();

/**
 * The tail of the output of an execution, shown as progress while the caller waits. SECURITY: it is made once for all
 * watchers of an execution, and its cost does not depend on the rest of the output.
 */
export function latestOutput(execution: ManagedExecution, now = performance.now()): string {
  const made = shared.get(execution);
  if (made !== undefined && now < made.until) return made.text;
  const text = latestText(execution);
  shared.set(execution, { text, until: now + SHARED_MS });
  return text;
}

function latestText(execution: ManagedExecution): string {
  if (execution.state() === 'waiting') return waitingText(execution) ?? 'waiting for its turn';
  const { stdout, stderr } = execution.tail(LOOKED_AT_CHARS);
  const text = (stdout.trimEnd() === '' ? stderr : stdout).trimEnd();
  if (text === '') return stdout.length + stderr.length < CHARS ? 'running, no output yet' : 'running';
  const end = text.slice(-CHARS);
  const lines = end.slice(text.length > CHARS ? end.indexOf('\n') + 1 : 0);
  // SECURITY: a progress message counts as Hotcell's text. Without label and quotation marks, a program's output would
  // read as Hotcell's.
  return `running; its output ends with ${visibleJson(JSON.stringify(lines.toWellFormed()))}`;
}
