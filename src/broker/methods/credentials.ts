import * as z from 'zod';
import { ExchangeDuplex } from '../exchange-duplex.ts';
import { CallError, defineMethod, type Method } from '../method.ts';
import type { SessionNetworks } from '../networks.ts';
import { CONNECTION } from './connection.ts';

export const CREDENTIALS = 'network.credentials';

/** A client of the servers whose secrets the host adds; its requests are the input. The result comes at once. */
export function credentialsMethod(networks: Pick<SessionNetworks, 'beginService'>): Method {
  return defineMethod({
    ...CONNECTION,
    name: CREDENTIALS,
    argument: z.looseObject({}).optional(),
    serve: async (_argument, exchange) => {
      using held = networks.beginService(exchange.caller);
      await exchange.result(null);
      const client = new ExchangeDuplex(exchange);
      await held.services.serveCredentials(client);
      // SECURITY: a response that was cut off must not look complete.
      if (!client.writableFinished) throw new CallError('broken', 'the connection was cut off');
    },
  });
}
