import { HotcellError } from '../errors/hotcell-error.ts';
import type { HttpContext } from './environment.ts';
import type { JsonBody, JsonReader } from './read-json.ts';

/** A body that must be JSON. `how`: the remedy, where it is not. */
export async function jsonBody(context: HttpContext, read: JsonReader, how: string): Promise<JsonBody> {
  // SECURITY: a form on somebody's page can send text, but not this.
  requireContentType(context, 'application/json', how);
  return read(context.env.incoming, context.get('owner').id);
}

export function requireContentType(context: HttpContext, wanted: string, how: string): void {
  const [given = ''] = (context.req.header('content-type') ?? '').split(';');
  if (given.trim().toLowerCase() === wanted) return;
  throw new HotcellError('invalid_argument', `Content-Type must be ${wanted}`, { remedy: how });
}

/** Call it within a turn of the owner, where a small body is parsed. */
export function parsedJson(body: JsonBody, how: string): unknown {
  const parsed = body.parsed();
  if ('value' in parsed) return parsed.value;
  const message = 'excess' in parsed ? `the body has ${parsed.excess}` : 'the body is not JSON';
  throw new HotcellError('invalid_argument', message, { remedy: how });
}
