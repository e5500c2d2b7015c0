import { UntrustedPathError } from '../lib/untrusted-path.ts';
import { ERROR_CODES, type ErrorCode, type Retry } from './codes.ts';

/**
 * The class of Hotcell's own failures. `message` says what happened to which thing; `remedy` says what to do next.
 * Neither contains a stack, or a host path that the reader did not name.
 */
export class HotcellError extends Error {
  override readonly name = 'HotcellError';
  readonly code: ErrorCode;
  readonly remedy: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { remedy?: string; data?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.remedy = options.remedy;
    this.data = options.data ?? {};
  }

  get retry(): Retry {
    return ERROR_CODES[this.code].retry;
  }
}

/** Converts a thrown value to a HotcellError: itself, `invalid_argument` for an untrusted folder, or `internal` with the value as its cause. */
export function toHotcellError(thrown: unknown): HotcellError {
  if (thrown instanceof HotcellError) return thrown;
  if (thrown instanceof UntrustedPathError) {
    const { message, command } = thrown;
    const remedy =
      command === undefined ? 'Set HOTCELL_HOME to a folder of your own.' : `Check its contents, then run: ${command}`;
    return new HotcellError('invalid_argument', message, { remedy, cause: thrown });
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new HotcellError('internal', message, { cause: thrown });
}
