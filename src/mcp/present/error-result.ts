import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ErrorCode, Retry } from '../../errors/codes.ts';
import { type HotcellError, toHotcellError } from '../../errors/hotcell-error.ts';
import { presentError } from '../../errors/present.ts';

const UNEXPECTED = 'something went wrong inside Hotcell';

/**
 * An error as a tool's result: the code and what to do next, as text and as data, in words of the tools. SECURITY: of a fault of ours the reader gets no message: it was
 * written for nobody, and may name paths of the host.
 */
export function errorResult(thrown: unknown): CallToolResult {
  const error = toHotcellError(thrown);
  const shown = { ...presentError(error), message: messageOf(error), remedy: remedyOf(error) };
  const again = shown.retry === 'later' ? ['→ The same call may work later.'] : [];
  const text = [`Error ${shown.code}: ${shown.message}`, `→ ${shown.remedy}`, ...again].join('\n');
  return failedResult(text, { ...shown });
}

/** Where a program finds the error of a failed call as data. */
export const ERROR_META = 'dev.hotcell/error';

/**
 * A failed call: text for a model, and the error as data in `_meta`. Never `structuredContent`: it has to match the tool's output schema, also in a failed call, and clients
 * on the TypeScript SDK v1 check that. They would show the mismatch in place of the error.
 */
export function failedResult(text: string, error: Readonly<Record<string, unknown>>): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }], _meta: { [ERROR_META]: error } };
}

/** The library begins some with the name of its own call, which is no tool. */
function messageOf({ code, message }: HotcellError): string {
  return code === 'internal' ? UNEXPECTED : message.replace(/^variables\.\w+: /, '');
}

function remedyOf(error: HotcellError): string {
  const { code, remedy, retry } = error;
  return GONE[code] ?? remedy ?? UNSAID[code] ?? BY_RETRY[retry] ?? presentError(error).remedy;
}

const OTHER = 'Call without session_id, or open another with open_session.';

/** Said in any case: what the library advises is nothing that a model can call. */
const GONE: Partial<Record<ErrorCode, string>> = {
  session_not_found: `${OTHER} list_sessions shows yours.`,
  session_closed: `Its variables and files are gone. ${OTHER}`,
};

/** Said where whoever threw it said nothing. */
const UNSAID: Partial<Record<ErrorCode, string>> = {
  evaluation_failed: 'Correct the expression.',
  variable_not_found: 'inspect_variables without an expression lists what there is.',
  not_offered: 'Look at it with run_code instead.',
  package_missing: 'Do it in another way with run_code, or say that the package is missing.',
};

/** Never a document: a model does not have it. */
const BY_RETRY: Partial<Record<Retry, string>> = {
  never: 'Change the call: the same one fails again.',
  'new-session': `This session is gone or unusable. ${OTHER}`,
};
