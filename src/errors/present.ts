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

/** Two lines for a terminal: the error and the remedy. */
export function errorText(thrown: unknown): string {
  const error = toHotcellError(thrown);
  return `error: ${continued(error.message)}\n  → ${continued(remedyOf(error))}`;
}

/** Indents all lines but the first. SECURITY: the text may quote an engine or a server, which must not begin a line that looks like Hotcell's. */
export function continued(text: string): string {
  return text.replaceAll(/\r\n|[\r\n]/g, '\n  | ');
}

const BY_RETRY: Readonly<Record<Retry, string>> = {
  never: 'See docs/errors.md.',
  later: 'Retry. If the error persists, run `hotcell doctor`.',
  'new-session': 'Open a new session.',
};

/** The remedy of an error. An error that was thrown without one gets a general remedy. */
function remedyOf(error: HotcellError): string {
  if (error.remedy !== undefined) return error.remedy;
  if (error.code === 'internal')
    return 'This is a bug in Hotcell. Run `hotcell doctor`, and report it with that output.';
  return BY_RETRY[error.retry];
}
