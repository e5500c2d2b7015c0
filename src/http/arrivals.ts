import type { Socket } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import type { HttpEnvironment } from './environment.ts';
import type { Turns } from './turns.ts';
import { leavingOf } from './when-closed.ts';

/**
 * Takes a turn for each request before it is routed. SECURITY: a refused request costs time as well, and needs no
 * token: five hundred keep-alive connections, each with a request that is answered with 403 or 404, would all be served
 * before the next call of a tenant. A call takes another turn when its owner is known and its body has arrived.
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
