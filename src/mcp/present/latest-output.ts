import type { ManagedExecution } from '../../directory/directory.ts';
import { visibleJson } from '../../lib/visible-json.ts';
import { waitingText } from './waiting-text.ts';

const CHARS = 300;

/** The tail of the output of an execution, shown as progress while the caller waits. */
export function latestOutput(execution: ManagedExecution): string {
  if (execution.state() === 'waiting') return waitingText(execution) ?? 'waiting for its turn';
  const { stdout, stderr } = execution.partial();
  const text = (stdout.trimEnd() === '' ? stderr : stdout).trimEnd();
  if (text === '') return 'running, no output yet';
  const end = text.slice(-CHARS);
  const lines = end.slice(text.length > CHARS ? end.indexOf('\n') + 1 : 0);
  // SECURITY: a progress message counts as Hotcell's text. Without label and quotation marks, a program's output would
  // read as Hotcell's.
  return `running; its output ends with ${visibleJson(JSON.stringify(lines.toWellFormed()))}`;
}
