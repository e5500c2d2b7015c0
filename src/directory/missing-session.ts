import { HotcellError } from '../errors/hotcell-error.ts';

const SHOWN_CHARS = 100;

/**
 * The error for an id that names no session of the caller: `session_closed` with its reason, or `session_not_found`.
 * Another owner's session counts as not found.
 */
export function missingSession(id: string, closedReason: string | undefined): HotcellError {
  const shown = id.slice(0, SHOWN_CHARS);
  if (closedReason !== undefined) {
    return new HotcellError('session_closed', `the session ${shown} ${closedReason}`, {
      remedy: 'Open a new session.',
    });
  }
  return new HotcellError('session_not_found', `you have no session ${shown}`, {
    remedy: 'List your sessions, or open one.',
  });
}
