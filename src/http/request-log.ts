import type { MiddlewareHandler } from 'hono';
import type { Logger } from '../telemetry/logger.ts';
import type { HttpEnvironment } from './environment.ts';

/**
 * A line for each request, for whoever runs the server and looks for a fault. SECURITY: of the address only the first name: the rest may hold the signature of
 * a link, and names of files are their owner's. Faults of ours are told at `error`, with a message and no more.
 */
export function requestLog(logger: Logger, now: () => number): MiddlewareHandler<HttpEnvironment> {
  return async (context, next) => {
    const begin = now();
    await next();
    const { status } = context.res;
    const route = `/${context.req.path.split('/')[1]?.slice(0, 40) ?? ''}`;
    const fields = { method: context.req.method, route, status, durationMs: Math.round(now() - begin) };
    // Whoever leaves makes much fail that has no fault.
    const hasLeft = context.env.outgoing.destroyed;
    if (status >= 500 && context.error !== undefined && !hasLeft)
      logger.error('a request failed', { ...fields, error: context.error.name });
    else logger.debug('request', { ...fields, owner: context.get('owner')?.id });
  };
}
