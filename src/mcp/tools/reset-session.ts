import * as z from 'zod';
import { defineTool } from '../define-tool.ts';
import { sessionArgument } from './session-argument.ts';

export const resetSession = defineTool({
  name: 'reset_session',
  title: 'Reset a session',
  description: `Restarts a session: deletes all variables and kills all its processes, including running code. Files are kept. Use it only when the state is broken beyond repair; an error in your code is no reason.`,
  input: z.strictObject({ session_id: sessionArgument }),
  output: z.object({ session_id: z.string(), variables: z.literal('lost'), files: z.literal('kept') }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  async handler({ session_id }, { deps, signal }) {
    const managed = await deps.directory.use(deps.owner, session_id, { signal, via: 'reset_session' });
    await managed.session.reset();
    return {
      structured: { session_id: managed.id, variables: 'lost' as const, files: 'kept' as const },
      content: [{ type: 'text', text: 'The session was reset: variables and processes are gone, files are kept.' }],
    };
  },
});
