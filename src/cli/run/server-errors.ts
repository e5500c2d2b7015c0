import * as z from 'zod';
import { ERROR_CODES, type ErrorCode } from '../../errors/codes.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { saidByServer } from '../../lib/said-inside.ts';
import { misbehaved } from './server-requests.ts';

export function serverUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new HotcellError('invalid_argument', `--server: ${text} is not an http or https address`, {
    remedy: 'For example: --server http://127.0.0.1:7878',
  });
}

export const shownError = z.object({
  error: z.object({ code: z.string(), message: z.string(), remedy: z.string().optional() }),
});

/**
 * The server's error as a HotcellError, quoted. An unknown code is ignored. SECURITY: unquoted, the message could ask
 * for a password, or for a command to be run, in Hotcell's name.
 */
export function remoteError(base: URL, answer: unknown): HotcellError {
  const parsed = shownError.safeParse(answer);
  if (!parsed.success) return misbehaved(base, 'sent an invalid error');
  const { code, message, remedy } = parsed.data.error;
  if (!Object.hasOwn(ERROR_CODES, code)) return misbehaved(base, `sent an unknown error; ${saidByServer(message)}`);
  const advice = remedy === undefined ? {} : { remedy: saidByServer(remedy) };
  return new HotcellError(code as ErrorCode, saidByServer(message), advice);
}

export function noServer(base: URL): HotcellError {
  return new HotcellError('engine_failed', `no server responds at ${base.origin}`, {
    remedy: 'Start a server with `hotcell serve`, or check the address.',
  });
}
