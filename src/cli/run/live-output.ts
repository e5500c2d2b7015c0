import type { ExecutionEvent } from '../../execution/events.ts';
import type { Outputs } from '../output.ts';
import { displayText } from './displays.ts';

const MAX_UPDATED = 1000;
const MAX_UPDATED_CHARS = 16 * 1_048_576;

/** Shows the output of an execution as it is printed. Waits for a slow reader; stops when the reader has gone. */
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
    // Printed text cannot be replaced: of an updated display the first and the last state are shown.
    for (const text of updated.values()) await shown.stdout.push(text);
  } finally {
    // Also after a failure: a colour that was left on would colour, or hide, the message about it.
    await shown.stdout.end();
    await shown.stderr.end();
  }
}
