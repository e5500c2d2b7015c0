import type { CallToolResult } from '@modelcontextprotocol/server';
import { toHotcellError } from '../../errors/hotcell-error.ts';
import { presentError } from '../../errors/present.ts';

const UNEXPECTED = 'something went wrong inside Hotcell';

/**
 * An error as a tool's result: the code and what to do next, as text and as data. SECURITY: of a fault of ours the reader gets no message: it was written for
 * nobody, and may name paths of the host.
 */
export function errorResult(thrown: unknown): CallToolResult {
  const error = toHotcellError(thrown);
  const shown = presentError(error);
  const message = error.code === 'internal' ? UNEXPECTED : shown.message;
  const advice = [shown.remedy, ADVICE[shown.retry]].filter((part) => part !== undefined);
  const text = [`Error ${shown.code}: ${message}`, ...advice.map((part) => `→ ${part}`)].join('\n');
  return { isError: true, content: [{ type: 'text', text }], structuredContent: { error: { ...shown, message } } };
}

const ADVICE: Readonly<Record<string, string>> = {
  later: 'The same call may work later.',
  'new-session': 'This session is gone or unusable: go on in another (open_session).',
};
