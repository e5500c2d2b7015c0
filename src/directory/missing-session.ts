import { HotcellError } from '../errors/hotcell-error.ts';

const SHOWN_CHARS = 100;

/** Of a session that an owner named and does not have: it ended, as its epitaph says, or never was. Another owner's never was. */
export function missingSession(id: string, epitaph: string | undefined): HotcellError {
  const shown = id.slice(0, SHOWN_CHARS);
  if (epitaph !== undefined) {
    return new HotcellError('session_closed', `the session ${shown} ${epitaph}`, { remedy: 'Open a new session.' });
  }
  return new HotcellError('session_not_found', `you have no session ${shown}`, {
    remedy: 'List your sessions, or open one.',
  });
}
