import type { Completion } from './editor/completion.ts';
import type { ReplSession } from './session.ts';

/** Timeout of a completion, so that a slow kernel delays a key press no longer than this. */
const LONGEST_WAIT_MS = 1_000;

/** Completions at the cursor: Hotcell's own commands, or names from the kernel. */
export async function completionsFor(
  session: Pick<ReplSession, 'complete'>,
  text: string,
  cursor: number,
  options: { language: string; commands: readonly string[] },
): Promise<Completion> {
  const before = text.slice(0, cursor);
  if (/^%\w*$/.test(before)) return { from: 0, matches: options.commands.filter((name) => name.startsWith(before)) };
  const { start, end, matches } = await session.complete(text, {
    cursor,
    language: options.language,
    timeoutMs: LONGEST_WAIT_MS,
    busy: 'refuse',
  });
  if (end !== cursor) return { from: cursor, matches: [] };
  // SECURITY: the names come from a sandbox. A name with anything but printable text is not offered.
  const names = matches.map((match) => match.text).filter((name) => /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u.test(name));
  return { from: start, matches: [...new Set(names)] };
}
