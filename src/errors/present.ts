import { ERROR_CODES, type Retry } from './codes.ts';
import { type HotcellError, toHotcellError } from './hotcell-error.ts';

/** An error as data, for `--json`, HTTP and MCP alike. */
export interface PresentedError {
  readonly code: string;
  readonly message: string;
  readonly retry: string;
  readonly remedy: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export function presentError(thrown: unknown): PresentedError {
  const error = toHotcellError(thrown);
  return {
    code: error.code,
    message: error.message,
    retry: error.retry,
    remedy: remedyOf(error),
    ...(Object.keys(error.data).length === 0 ? {} : { data: error.data }),
  };
}

export function exitCodeOf(thrown: unknown): number {
  return ERROR_CODES[toHotcellError(thrown).code].exitCode;
}

/** Two lines for a terminal: what happened, and what to do. */
export function errorText(thrown: unknown): string {
  const error = toHotcellError(thrown);
  return `error: ${continued(error.message)}\n  → ${continued(remedyOf(error))}`;
}

/** Text of several lines as part of one. SECURITY: words of an engine or a server in it cannot begin a line that looks like ours. */
export function continued(text: string): string {
  return text.replaceAll(/\r\n|[\r\n]/g, '\n  | ');
}

const BY_RETRY: Readonly<Record<Retry, string>> = {
  never: 'See docs/errors.md for what it means.',
  later: 'Try again. If it stays, run `hotcell doctor`.',
  'new-session': 'Open a new session.',
};

/** No error is without one: where it was thrown nobody may have known better. */
function remedyOf(error: HotcellError): string {
  if (error.remedy !== undefined) return error.remedy;
  if (error.code === 'internal')
    return 'This is a fault in Hotcell. Run `hotcell doctor`, and report it with what that says.';
  return BY_RETRY[error.retry];
}
