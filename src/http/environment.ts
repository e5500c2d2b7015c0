import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import type { Owner } from '../directory/directory.ts';

/** The context of a route: Node's request and response, and the owner, if a guard has authenticated the client. */
export interface HttpEnvironment {
  readonly Bindings: HttpBindings;
  readonly Variables: { owner: Owner };
}

export type HttpApp = Hono<HttpEnvironment>;
export type HttpContext = Context<HttpEnvironment>;
