import { type Clock, systemClock } from '../lib/clock.ts';
import { createConnections } from './connections.ts';
import type { NetworkEvent, NetworkLimits, NetworkRules, SessionNetwork } from './contract.ts';
import { NO_PROXY } from './host-proxy.ts';
import { createHttpForwarder, type HttpForwarder } from './http-forward.ts';
import type { Reach } from './open-socket.ts';
import { createOwnAddresses } from './own-addresses.ts';
import { createResolve } from './resolve.ts';
import { openTunnelTo } from './tunnel.ts';
import { DEFAULT_LIMITS } from './usage.ts';

export interface SessionNetworkOptions {
  readonly rules: NetworkRules;
  readonly limits?: Partial<NetworkLimits>;
  /** Called for each decision and each end of a connection. Must not throw. */
  readonly onEvent?: (event: NetworkEvent) => void;
  readonly reach?: Partial<Reach>;
  readonly clock?: Clock;
  /** Ports on which a ClientHello must come first. */
  readonly tlsOnlyPorts?: readonly number[];
  /** Ports on which each message must be a request of HTTP whose Host is the target. */
  readonly httpOnlyPorts?: readonly number[];
}

const TLS_ONLY_PORTS = [443];
const HTTP_ONLY_PORTS = [80];

/** The network of one session. It starts nothing before it is used: no listener, no timer. */
export function createSessionNetwork(options: SessionNetworkOptions): SessionNetwork {
  const connections = createConnections({
    rules: options.rules,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    onEvent: options.onEvent ?? (() => undefined),
    reach: { resolve: createResolve(), ownAddresses: createOwnAddresses(), hostProxy: NO_PROXY, ...options.reach },
    clock: options.clock ?? systemClock,
    tlsOnlyPorts: options.tlsOnlyPorts ?? TLS_ONLY_PORTS,
    httpOnlyPorts: options.httpOnlyPorts ?? HTTP_ONLY_PORTS,
    checksFirstBytes: true,
  });
  let forwarder: HttpForwarder | undefined;
  const serveHttp: HttpForwarder['serve'] = (client, target) => {
    forwarder ??= createHttpForwarder(connections);
    return forwarder.serve(client, target);
  };
  return {
    open: (target, { signal } = {}) => openTunnelTo(connections, target, { serveHttp, ...(signal && { signal }) }),
    serveHttp: (client) => serveHttp(client),
    change: connections.change,
    counters: connections.counters,
    close: connections.close,
  };
}
