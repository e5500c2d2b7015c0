import { isUtf8 } from 'node:buffer';

/**
 * Parses JSON in UTF-8. SECURITY: throws if it is not UTF-8. Each wrong byte would become U+FFFD, which takes three
 * bytes when it is sent on.
 */
export function parseUtf8Json(data: Buffer): unknown {
  if (!isUtf8(data)) throw new SyntaxError('not UTF-8');
  return JSON.parse(data.toString('utf8'));
}
