import * as z from 'zod';
import type { ManagedExecution, ManagedSession } from '../../directory/directory.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { defineTool } from '../define-tool.ts';
import type { McpDeps } from '../deps.ts';
import { readLog } from '../execution-log.ts';
import { executionFacts, executionOutput } from '../present/execution-output.ts';
import { endedReply, unendedReply } from '../present/execution-reply.ts';
import { latestOutput } from '../present/latest-output.ts';
import { textBlocks } from '../present/text-blocks.ts';
import { resultBytes } from '../result-bytes.ts';
import { waitForEnd } from '../wait-for-end.ts';

const LOG_BYTES = 16_384;

export const getExecution = defineTool({
  name: 'get_execution',
  title: 'Get an execution',
  description: `Returns an execution: while it runs, its output so far; then its result.

  {"execution_id": "x-…", "wait_ms": 30000}   wait up to 30 s for it to end
  {"execution_id": "x-…", "cancel": true}     interrupt it; the session goes on
  {"execution_id": "x-…", "log_offset": 0}    read all of its output and error in chunks

Results are kept while the session is open; the oldest are dropped first.`,
  input: z.strictObject({
    execution_id: z.string().min(1).max(100),
    session_id: z.string().min(1).max(100).optional().describe('Not needed'),
    wait_ms: z.number().int().min(0).max(3_600_000).default(0).describe('How long to wait for its end, in ms'),
    cancel: z.boolean().default(false).describe('Interrupt it and return its result'),
    log_offset: z.number().int().min(0).optional().describe('First byte to read of its output'),
  }),
  output: executionOutput.extend({
    log: z
      .object({
        offset: z.number().int(),
        text: z.string(),
        next_offset: z.number().int().optional().describe('Absent at the end'),
        size_bytes: z.number().int(),
      })
      .optional(),
  }),
  facts: ({ log, ...execution }) => ({
    ...executionFacts(execution),
    ...(log === undefined ? {} : { log: { ...log, text: undefined } }),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  isLong: true,
  async handler({ execution_id, session_id, wait_ms, cancel, log_offset }, call) {
    const { managed, execution } = find(call.deps, execution_id, session_id);
    call.reportWith(() => latestOutput(execution));
    if (cancel) execution.cancel();
    if (cancel) await execution.result.catch(() => {});
    else await waitForEnd(execution, Math.min(wait_ms, call.patienceMs), call.signal);
    const result = execution.state() === 'ended' ? await execution.result : undefined;
    await call.turn(result === undefined ? execution.outputBytes() : resultBytes(result));
    const reply =
      result === undefined
        ? unendedReply(managed, execution, call.deps, 'Still running.')
        : await endedReply(managed, execution, call);
    if (log_offset === undefined) return reply;
    const log = await readLog(execution, { offset: log_offset, length: LOG_BYTES });
    const rest = log.next_offset === undefined ? ', to the end' : `; continue with log_offset ${log.next_offset}`;
    const ours =
      log.text === ''
        ? `The log has ${log.size_bytes} bytes: there is nothing after this offset.`
        : `Log from byte ${log_offset} of ${log.size_bytes}${rest}.`;
    return { structured: { ...reply.structured, log }, content: textBlocks(ours, log.text) };
  },
});

/**
 * Searches the owner's own sessions only: the id of another owner's execution is as unknown as one that never existed.
 */
function find(
  { directory, owner }: McpDeps,
  executionId: string,
  sessionId: string | undefined,
): { managed: ManagedSession; execution: ManagedExecution } {
  const managed =
    sessionId === undefined ? directory.withExecution(owner, executionId) : directory.known(owner, sessionId);
  const execution = managed?.execution(executionId);
  if (managed !== undefined && execution !== undefined) return { managed, execution };
  throw new HotcellError('execution_not_found', `there is no execution ${executionId.slice(0, 100)}`, {
    remedy:
      'Use an execution_id from a reply of run_code or run_command. Old results are dropped, and closing a session deletes its results.',
  });
}
