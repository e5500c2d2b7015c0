import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import type { Owner } from '../directory/directory.ts';

/** What a route finds in its context: Node's own request and response, and who asks, where a guard has found that out. `endArrival` ends the turn in which a request is received. */
export interface HttpEnvironment {
  readonly Bindings: HttpBindings;
  readonly Variables: { owner: Owner; endArrival: () => void };
}

export type HttpApp = Hono<HttpEnvironment>;
export type HttpContext = Context<HttpEnvironment>;
