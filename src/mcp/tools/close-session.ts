import * as z from 'zod';
import { defineTool } from '../define-tool.ts';

export const closeSession = defineTool({
  name: 'close_session',
  title: 'Close a session',
  description:
    'Closes a session: stops running code and permanently deletes its variables and files. First read or download the files that you want to keep.',
  input: z.strictObject({
    session_id: z.string().min(1).max(100).describe('Id or name of the session; list_sessions shows them'),
  }),
  output: z.object({ session_id: z.string(), closed: z.literal(true) }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  async handler({ session_id }, { deps }) {
    await deps.directory.close(deps.owner, session_id);
    return {
      structured: { session_id, closed: true as const },
      content: [{ type: 'text', text: `Closed ${session_id}.` }],
    };
  },
});
