import { ERROR_CODES } from './codes.ts';
import { toHotcellError } from './hotcell-error.ts';

/** An error as data, for `--json`, HTTP and MCP alike. */
export interface PresentedError {
  readonly code: string;
  readonly message: string;
  readonly retry: string;
  readonly remedy?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export function presentError(thrown: unknown): PresentedError {
  const error = toHotcellError(thrown);
  return {
    code: error.code,
    message: error.message,
    retry: error.retry,
    ...(error.remedy === undefined ? {} : { remedy: error.remedy }),
    ...(Object.keys(error.data).length === 0 ? {} : { data: error.data }),
  };
}

export function exitCodeOf(thrown: unknown): number {
  return ERROR_CODES[toHotcellError(thrown).code].exitCode;
}

/** Two lines for a terminal: what happened, and what to do. */
export function errorText(thrown: unknown): string {
  const error = toHotcellError(thrown);
  return error.remedy === undefined ? `error: ${error.message}` : `error: ${error.message}\n  → ${error.remedy}`;
}
