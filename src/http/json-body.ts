import { HotcellError } from '../errors/hotcell-error.ts';
import { excessIn } from '../lib/json-limits.ts';
import type { HttpContext } from './environment.ts';
import type { BodyReader } from './read-large-body.ts';

/** The text of a body that must be JSON. `how`: the remedy, where it is not. */
export async function jsonText(context: HttpContext, read: BodyReader, how: string): Promise<string> {
  // SECURITY: a form on somebody's page can send text, but not this.
  requireContentType(context, 'application/json', how);
  return read(context.env.incoming, context.get('owner').id, (body) => body.toString('utf8'));
}

export function requireContentType(context: HttpContext, wanted: string, how: string): void {
  const [given = ''] = (context.req.header('content-type') ?? '').split(';');
  if (given.trim().toLowerCase() === wanted) return;
  throw new HotcellError('invalid_argument', `Content-Type must be ${wanted}`, { remedy: how });
}

export function parsedJson(text: string, how: string): unknown {
  const excess = excessIn(text);
  if (excess !== undefined) throw new HotcellError('invalid_argument', `the body has ${excess}`, { remedy: how });
  try {
    return JSON.parse(text);
  } catch {
    throw new HotcellError('invalid_argument', 'the body is not JSON', { remedy: how });
  }
}
