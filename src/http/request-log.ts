import type { MiddlewareHandler } from 'hono';
import type { Logger } from '../telemetry/logger.ts';
import type { HttpEnvironment } from './environment.ts';

/**
 * Logs a line for each request, for the operator. SECURITY: of the path only the first component is logged: the rest
 * may contain the signature of a link, and file names are private. Bugs of ours are logged at `error`, with the name of
 * the error only.
 */
export function requestLog(logger: Logger, now: () => number): MiddlewareHandler<HttpEnvironment> {
  return async (context, next) => {
    const begin = now();
    await next();
    const { status } = context.res;
    const route = `/${context.req.path.split('/')[1]?.slice(0, 40) ?? ''}`;
    const fields = { method: context.req.method, route, status, durationMs: Math.round(now() - begin) };
    // A client that disconnects causes errors that are no faults.
    const hasLeft = context.env.outgoing.destroyed;
    if (status >= 500 && context.error !== undefined && !hasLeft)
      logger.error('a request failed', { ...fields, error: context.error.name });
    else logger.debug('request', { ...fields, owner: context.get('owner')?.id });
  };
}
