import * as z from 'zod';
import { ExchangeDuplex } from '../exchange-duplex.ts';
import { CallError, defineMethod, type Method } from '../method.ts';
import type { SessionNetworks } from '../networks.ts';
import { CONNECTION } from './connection.ts';

export const HTTP = 'network.http';

/** A client of the plain HTTP proxy, whose requests are the input: each is checked on its own. The result comes at once. */
export function httpMethod(networks: Pick<SessionNetworks, 'begin'>): Method {
  return defineMethod({
    ...CONNECTION,
    name: HTTP,
    argument: z.strictObject({}).optional(),
    serve: async (_argument, exchange) => {
      using held = networks.begin(exchange.caller);
      await exchange.result(null);
      const client = new ExchangeDuplex(exchange);
      await held.network.serveHttp(client);
      // SECURITY: a response that was cut off must not look complete.
      if (!client.writableFinished) throw new CallError('broken', 'the connection was cut off');
    },
  });
}
