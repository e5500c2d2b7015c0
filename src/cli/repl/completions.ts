import { commandIn, commandNames } from './commands.ts';
import type { Completion } from './editor/completion.ts';
import type { ReplSession } from './session.ts';

/** Timeout of a completion, so that a slow kernel delays a key press no longer than this. */
const LONGEST_WAIT_MS = 1_000;
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u;
/** Text before the cursor that is one name, or names with dots. */
const NAME_AT_START = /^\s*[\p{L}\p{M}\p{N}_$.]*$/u;
const NAME = /^[\p{L}\p{M}\p{N}_$]+$/u;

/** Completions at the cursor: Hotcell's own commands, or names from the kernel. */
export async function completionsFor(
  session: Pick<ReplSession, 'complete'>,
  text: string,
  cursor: number,
  language: string,
): Promise<Completion> {
  const before = text.slice(0, cursor);
  const none = { from: cursor, matches: [] };
  const command = before.trimStart();
  if (/^%\w*$/.test(command)) {
    return { from: cursor - command.length, matches: commandNames().filter((name) => name.startsWith(command)) };
  }
  // SECURITY: what the kernel adds to a command, or before a text, could name a file of the host.
  if (command === '' || commandIn(text) !== undefined) return none;
  const { start, end, matches } = await session.complete(text, {
    ...{ cursor, language, timeoutMs: LONGEST_WAIT_MS, busy: 'refuse' },
  });
  if (end !== cursor || start > cursor) return none;
  const names = matches.map((match) => match.text).filter(continues(before, start));
  return { from: start, matches: [...new Set(names)] };
}

/**
 * Whether a name from the kernel is offered. SECURITY: code in the sandbox can send any reply. A name only continues the
 * text before the cursor, so that it cannot turn the input into `%run` with a file of the host; and where the input is
 * a name so far, it continues as a name, and not as `name?`.
 */
function continues(before: string, start: number): (name: string) => boolean {
  const replaced = before.slice(start);
  const isName = NAME_AT_START.test(before);
  return (name) => name.startsWith(replaced) && PRINTABLE.test(name) && (!isName || NAME.test(name));
}
