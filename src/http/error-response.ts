import { ERROR_CODES } from '../errors/codes.ts';
import { toHotcellError } from '../errors/hotcell-error.ts';
import { type PresentedError, presentError } from '../errors/present.ts';

/** Converts an error to a response: the status of its code, and JSON. Other exceptions reveal no details. */
export function errorResponse(thrown: unknown): Response {
  const error = toHotcellError(thrown);
  const headers: Record<string, string> = {};
  if (error.code === 'unauthorized') headers['www-authenticate'] = 'Bearer realm="hotcell"';
  if (error.retry === 'later') headers['retry-after'] = '1';
  if (error.code === 'too_many_connections') headers.connection = 'close';
  return Response.json({ error: shownError(error) }, { status: ERROR_CODES[error.code].httpStatus, headers });
}

export function shownError(thrown: unknown): PresentedError {
  const shown = presentError(thrown);
  return shown.code === 'internal' ? { ...shown, message: 'a bug in Hotcell' } : shown;
}
