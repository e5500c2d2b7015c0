import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ErrorCode, Retry } from '../../errors/codes.ts';
import { type HotcellError, toHotcellError } from '../../errors/hotcell-error.ts';
import { presentError } from '../../errors/present.ts';

const UNEXPECTED = 'internal error of Hotcell';

/**
 * An error as a tool's result: the code and the remedy, as text and as data, in terms of the tools. SECURITY: the
 * message of an internal error is not shown: it may name paths of the host.
 */
export function errorResult(thrown: unknown): CallToolResult {
  const error = toHotcellError(thrown);
  const shown = { ...presentError(error), message: messageOf(error), remedy: remedyOf(error) };
  const again = shown.retry === 'later' ? ['→ You can retry the same call later.'] : [];
  const text = [`Error ${shown.code}: ${shown.message}`, `→ ${shown.remedy}`, ...again].join('\n');
  return failedResult(text, { ...shown });
}

/** Key in `_meta` under which a program finds the error of a failed call as data. */
export const ERROR_META = 'dev.hotcell/error';

/**
 * A failed call: text for a model, and the error as data in `_meta`. Never in `structuredContent`, which must match the
 * tool's output schema even in a failed call: clients on the TypeScript SDK v1 check that, and would show the mismatch
 * in place of the error.
 */
export function failedResult(text: string, error: Readonly<Record<string, unknown>>): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }], _meta: { [ERROR_META]: error } };
}

/** The message of an error. Some messages of the library begin with the name of a method, which is no tool. */
function messageOf({ code, message }: HotcellError): string {
  return code === 'internal' ? UNEXPECTED : message.replace(/^variables\.\w+: /, '');
}

function remedyOf(error: HotcellError): string {
  const { code, remedy, retry } = error;
  return GONE[code] ?? remedy ?? UNSAID[code] ?? BY_RETRY[retry] ?? presentError(error).remedy;
}

const OTHER = 'Call without session_id, or open a new session with open_session.';

/** Remedies that replace those of the library, which name methods that a model cannot call. */
const GONE: Partial<Record<ErrorCode, string>> = {
  session_not_found: `${OTHER} list_sessions shows yours.`,
  session_closed: `Its variables and files are deleted. ${OTHER}`,
};

/** Remedies for errors that were thrown without one. */
const UNSAID: Partial<Record<ErrorCode, string>> = {
  evaluation_failed: 'Correct the expression.',
  variable_not_found: 'Call inspect_variables without an expression to list all variables.',
  not_offered: 'Use run_code instead.',
  package_missing: 'Use run_code without this package, or tell the user that it is missing.',
};

/** Remedies by retry advice. They name no document: a model does not have it. */
const BY_RETRY: Partial<Record<Retry, string>> = {
  never: 'Change the arguments: the same call fails again.',
  'new-session': `This session is closed or unusable. ${OTHER}`,
};
