import * as z from 'zod';
import { defineTool } from '../define-tool.ts';
import { sessionOutput, sessionStructured, sessionText } from '../present/session-output.ts';

export const listSessions = defineTool({
  name: 'list_sessions',
  title: 'List sessions',
  description: `Lists your open sessions: id, name, state, isolation, and when each closes if unused. A server without tokens cannot tell which are yours, and lists none.`,
  input: z.strictObject({}),
  output: z.object({ sessions: z.array(sessionOutput) }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  async handler(_args, { deps }) {
    await deps.directory.recall(deps.owner);
    const sessions = deps.directory.list(deps.owner).map(sessionStructured);
    const none = deps.owner.isAnonymous === true ? NOT_TOLD : 'No open sessions. run_code opens one.';
    const text = sessions.length === 0 ? none : sessions.map(sessionText).join('\n');
    return { structured: { sessions }, content: [{ type: 'text', text }] };
  },
});

const NOT_TOLD =
  'No sessions are listed: this server uses no tokens, so it cannot tell which sessions are yours. Pass the session_id of an earlier reply; run_code without session_id opens a new session.';
