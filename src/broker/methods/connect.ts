import * as z from 'zod';
import { shownHost } from '../../network/host-name.ts';
import { ExchangeDuplex } from '../exchange-duplex.ts';
import { defineMethod, type Method } from '../method.ts';
import type { SessionNetworks } from '../networks.ts';
import { CONNECTION } from './connection.ts';
import { carried, opened } from './opened.ts';

export const CONNECT = 'network.connect';

/** Longer than any host: the network says what is wrong with one that is too long, so that the refusal is seen. */
const HOST_CHARS = 4_096;

/** A connection to a server, whose bytes are the input and the output. The result comes when it is open. */
export function connectMethod(networks: Pick<SessionNetworks, 'begin'>): Method {
  return defineMethod({
    ...CONNECTION,
    name: CONNECT,
    argument: z.strictObject({ host: z.string().max(HOST_CHARS), port: z.number().int() }),
    audit: ({ host, port }) => ({ host: shownHost(host), port }),
    serve: async (target, exchange) => {
      using held = networks.begin(exchange.caller, target);
      const connection = opened(await held.network.open(target, { signal: exchange.signal }));
      await exchange.result(null).catch((error: unknown) => {
        connection.close();
        throw error;
      });
      await carried(connection, new ExchangeDuplex(exchange));
    },
  });
}
