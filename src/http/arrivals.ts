import type { Socket } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import type { HttpEnvironment } from './environment.ts';
import type { Turns } from './turns.ts';
import { leavingOf } from './when-closed.ts';

/**
 * Takes a turn for each request before it is routed. SECURITY: what is refused costs time as well, and needs no token: five hundred connections that are kept alive, each with a request that is
 * answered at once with 403 or 404, would all be served before the next call of a tenant. Calls take another turn when their owner is known and their body is there.
 */
export function arrivals(turns: Turns, partyOf: (socket: Socket) => string): MiddlewareHandler<HttpEnvironment> {
  return async (context, next) => {
    const { incoming, outgoing } = context.env;
    const endArrival = await turns.take(partyOf(incoming.socket), { leaving: () => leavingOf(outgoing) });
    context.set('endArrival', endArrival);
    try {
      await next();
    } finally {
      endArrival();
    }
  };
}
