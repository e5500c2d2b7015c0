import type { ExecutionEvent } from '../../execution/events.ts';
import type { Outputs } from '../output.ts';
import { displayText } from './displays.ts';

const MAX_UPDATED = 1000;
const MAX_UPDATED_CHARS = 16 * 1_048_576;

/** Shows what an execution prints as it prints it. Waits for a slow reader; stops when there is none any more. */
export async function showLive(execution: AsyncIterable<ExecutionEvent>, outputs: Outputs): Promise<void> {
  const shown = { stdout: outputs.stdout.program(), stderr: outputs.stderr.program() };
  const updated = new Map<string | undefined, string>();
  const isTooMuch = () =>
    updated.size > MAX_UPDATED ||
    [...updated.values()].reduce((sum, { length }) => sum + length, 0) > MAX_UPDATED_CHARS;
  try {
    for await (const event of execution) {
      if (event.kind === 'stdout' || event.kind === 'stderr') await shown[event.kind].push(event.text);
      else if (event.kind === 'display' && event.update) updated.set(event.id, displayText(event));
      else if (event.kind === 'display') await shown.stdout.push(displayText(event));
      if (event.kind === 'display' && isTooMuch()) updated.clear();
    }
    // What was shown cannot be taken back here: of a display that was updated the first and the last state are shown.
    for (const text of updated.values()) await shown.stdout.push(text);
  } finally {
    // Also where the server or the sandbox broke off: a colour that was left on would colour, or hide, what we say of it.
    await shown.stdout.end();
    await shown.stderr.end();
  }
}
