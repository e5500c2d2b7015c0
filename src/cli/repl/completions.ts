import type { Session } from '../../main.ts';
import type { Completion } from './editor/completion.ts';

/** A kernel that is slow to answer costs a key press no more than this. */
const LONGEST_WAIT_MS = 1_000;

/** What could go on here: our own commands, or what the kernel knows. */
export async function completionsFor(
  session: Session,
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
  // SECURITY: the names come from a sandbox. One with anything but a line of text in it is typed for nobody.
  const names = matches.map((match) => match.text).filter((name) => /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u.test(name));
  return { from: start, matches: [...new Set(names)] };
}
