import * as z from 'zod';
import { DEFAULT_SESSION } from '../../directory/session-lookup.ts';
import { HotcellError, toHotcellError } from '../../errors/hotcell-error.ts';
import { defineTool } from '../define-tool.ts';
import { sessionArgument } from './session-argument.ts';

export const closeSession = defineTool({
  name: 'close_session',
  title: 'Close a session',
  description:
    'Closes a session: stops running code and deletes its variables and files for good. First read or download the files that you want to keep.',
  input: z.strictObject({ session_id: sessionArgument }),
  output: z.object({ session_id: z.string(), closed: z.literal(true) }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  async handler({ session_id }, { deps: { directory, owner } }) {
    if (session_id === undefined && owner.isAnonymous === true) {
      throw new HotcellError('invalid_argument', 'session_id: this server has no default session', {
        remedy: 'Pass the session_id of an earlier reply.',
      });
    }
    const closed = directory.close(owner, session_id ?? DEFAULT_SESSION);
    const text = await (session_id === undefined ? closedDefault(closed) : closed.then(() => `Closed ${session_id}.`));
    return {
      structured: { session_id: session_id ?? DEFAULT_SESSION, closed: true as const },
      content: [{ type: 'text', text }],
    };
  },
});

/** A default session that was never opened is as good as closed. */
async function closedDefault(closed: Promise<void>): Promise<string> {
  try {
    await closed;
    return 'Closed your default session. The next call without session_id opens a new one.';
  } catch (thrown) {
    const error = toHotcellError(thrown);
    if (error.code !== 'session_not_found') throw error;
    return 'Your default session is not open: there is nothing to close.';
  }
}
