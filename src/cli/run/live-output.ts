import type { Writable } from 'node:stream';
import type { ExecutionEvent } from '../../execution/events.ts';
import { type ColouredStream, wantsColours } from '../terminal.ts';
import { createTerminalFilter, type TerminalFilter } from '../terminal-filter.ts';
import { writeAll } from '../write-all.ts';
import { displayText } from './displays.ts';

type Output = Writable & ColouredStream;

const MAX_UPDATED = 1000;

/** Shows what an execution prints as it prints it. Waits for a slow reader; stops when there is none any more. */
export async function showLive(
  execution: AsyncIterable<ExecutionEvent>,
  streams: { stdout: Output; stderr: Output },
): Promise<void> {
  const shown = { stdout: createTextFor(streams.stdout), stderr: createTextFor(streams.stderr) };
  const updated = new Map<string | undefined, string>();
  for await (const event of execution) {
    if (event.kind === 'stdout' || event.kind === 'stderr') {
      await writeAll(streams[event.kind], shown[event.kind].push(event.text));
    } else if (event.kind === 'display' && event.update) updated.set(event.id, displayText(event));
    else if (event.kind === 'display') await writeAll(streams.stdout, shown.stdout.push(displayText(event)));
    if (updated.size > MAX_UPDATED) updated.clear();
  }
  // What was shown cannot be taken back here: of a display that was updated the first and the last state are shown.
  for (const text of updated.values()) await writeAll(streams.stdout, shown.stdout.push(text));
  for (const name of ['stdout', 'stderr'] as const) await writeAll(streams[name], shown[name].end());
}

/** A file or a pipe gets what the program printed; a terminal gets what cannot harm whoever looks at it. */
function createTextFor(stream: Output): TerminalFilter {
  if (stream.isTTY !== true) return { push: (text) => text, end: () => '' };
  return createTerminalFilter({ colours: wantsColours(stream) });
}
