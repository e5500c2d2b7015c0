import { z } from 'zod';
import { defineTool } from '../define-tool.ts';
import { sessionOutput, sessionStructured, sessionText } from '../present/session-output.ts';

export const listSessions = defineTool({
  name: 'list_sessions',
  title: 'List sessions',
  description: 'Lists your open sessions: id, name, state, isolation, and when each is closed if nobody uses it.',
  input: z.strictObject({}),
  output: z.object({ sessions: z.array(sessionOutput) }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  async handler(_args, { deps }) {
    await deps.directory.recall(deps.owner);
    const sessions = deps.directory.list(deps.owner).map(sessionStructured);
    const text =
      sessions.length === 0 ? 'No session is open. run_code opens one.' : sessions.map(sessionText).join('\n');
    return { structured: { sessions }, content: [{ type: 'text', text }] };
  },
});
