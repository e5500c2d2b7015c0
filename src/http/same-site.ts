import { HotcellError } from '../errors/hotcell-error.ts';
import type { HttpContext } from './environment.ts';

/**
 * SECURITY: without a token or a signature, being on this machine is all the proof there is, and a page in its browser is on this machine too. It can embed
 * an image whose session has a name that can be guessed; the browser says so in this header.
 */
export function requireSameSite(context: HttpContext, remedy = 'Call it from a program, not from a page.'): void {
  const site = context.req.header('sec-fetch-site');
  if (context.req.header('authorization') !== undefined) return;
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  throw new HotcellError('forbidden', 'cross-origin requests are not allowed here', { remedy });
}
