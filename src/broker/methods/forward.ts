import * as z from 'zod';
import { forwardOf } from '../../network/upstreams/listeners.ts';
import { ExchangeDuplex } from '../exchange-duplex.ts';
import { defineMethod, type Method } from '../method.ts';
import type { SessionNetworks } from '../networks.ts';
import { CONNECTION } from './connection.ts';
import { carried, opened } from './opened.ts';

export const FORWARD = 'network.forward';

/** A connection to a server that the operator has named, for a listener on the sandbox's loopback. The result comes when it is open. */
export function forwardMethod(networks: Pick<SessionNetworks, 'beginService'>): Method {
  return defineMethod({
    ...CONNECTION,
    name: FORWARD,
    argument: z.strictObject({ name: z.string().max(100) }),
    serve: async ({ name }, exchange) => {
      using held = networks.beginService(exchange.caller, { host: forwardOf(name), port: 0 });
      const connection = opened(await held.services.forward(forwardOf(name), { signal: exchange.signal }));
      await exchange.result(null).catch((error: unknown) => {
        connection.close();
        throw error;
      });
      await carried(connection, new ExchangeDuplex(exchange));
    },
  });
}
