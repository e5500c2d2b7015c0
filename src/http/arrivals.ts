import type { MiddlewareHandler } from 'hono';
import { createNestedQueue } from '../lib/nested-queue.ts';
import type { HttpContext, HttpEnvironment } from './environment.ts';
import { createTurns, type EndTurn, timedTurn } from './turns.ts';
import { leavingOf } from './when-closed.ts';

/**
 * The party that a request counts for before it is authenticated: an owner, or the networks of an address, outermost
 * first.
 */
export type Party = { readonly owner: string } | { readonly networks: readonly string[] };

/** As many places as one owner has in its turns. */
const STRANGERS_AT_ONCE = 4;

/**
 * Takes a turn for each request before it is routed. SECURITY: a refused request costs time as well, and needs no
 * token: five hundred keep-alive connections, each with a request that is answered with 403 or 404, would all be served
 * before the next call of a tenant. All strangers together have as many places as one owner, however many addresses
 * they have, and share them by network. A call takes another turn when its owner is known and its body has arrived.
 */
export function arrivals(partyOf: (context: HttpContext) => Party): MiddlewareHandler<HttpEnvironment> {
  const owners = createTurns();
  const strangers = createNestedQueue(STRANGERS_AT_ONCE);

  async function take(context: HttpContext): Promise<EndTurn> {
    const party = partyOf(context);
    const leaving = () => leavingOf(context.env.outgoing);
    if ('owner' in party) return owners.take(party.owner, { leaving });
    return timedTurn(strangers.tryTake() ?? (await strangers.take(party.networks, leaving())));
  }

  return async (context, next) => {
    const endArrival = await take(context);
    context.set('endArrival', endArrival);
    try {
      await next();
    } finally {
      endArrival();
    }
  };
}
