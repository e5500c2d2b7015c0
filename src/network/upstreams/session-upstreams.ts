import type { Duplex } from 'node:stream';
import { createSecureContext } from 'node:tls';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { createConnections } from '../connections.ts';
import type { NetworkEvent, NetworkLimits, Opening } from '../contract.ts';
import { hostAndPort, splitPort } from '../host-name.ts';
import { NO_PROXY } from '../host-proxy.ts';
import type { HttpClients } from '../http-clients.ts';
import type { Reach } from '../open-socket.ts';
import { createOwnAddresses } from '../own-addresses.ts';
import { parsePolicy } from '../policy.ts';
import { createResolve } from '../resolve.ts';
import { openTunnelTo } from '../tunnel.ts';
import { DEFAULT_LIMITS } from '../usage.ts';
import { targetOf } from './credential-request.ts';
import { createCredentialServer } from './credential-server.ts';
import type { ReadSecret } from './secret.ts';
import type { Upstreams } from './upstream.ts';

/**
 * The services of the operator that one session may use. The broker makes it for a session that may use any, and closes it with the session. As with
 * `SessionNetwork`, refusals and failures are values, and nothing that a guest or a server does makes these functions throw.
 */
export interface SessionUpstreams {
  /** A connection to a forward's server; its bytes are not looked at. A name that the session may not use is refused. */
  forward(name: string, options?: { signal?: AbortSignal }): Promise<Opening>;
  /** Serves requests to `/<credential>/…` on the client's stream until it ends. */
  serveCredentials(client: Duplex): Promise<void>;
  close(): void;
}

export interface SessionUpstreamsOptions {
  /** Only those that the session may use. */
  readonly services: Upstreams;
  readonly limits?: Partial<NetworkLimits>;
  readonly onEvent?: (event: NetworkEvent) => void;
  readonly onUnreadable?: (name: string, why: string) => void;
  readonly readSecret: ReadSecret;
  /** The certificates that upstream servers are checked with, in PEM; those of Node by default. */
  readonly certificates?: Buffer | string;
  readonly reach?: Partial<Reach>;
  readonly clock?: Clock;
}

/** It starts nothing before it is used. */
export function createSessionUpstreams(options: SessionUpstreamsOptions): SessionUpstreams {
  const { services, clock = systemClock, onUnreadable = () => undefined, readSecret, certificates } = options;
  const { forwards, credentials } = services;
  const targets = [...Object.values(forwards), ...Object.values(credentials).map((one) => hostAndPort(targetOf(one)))];
  // SECURITY: the operator named each of them exactly, so that they may be private; nothing else can be reached.
  const policy = parsePolicy([...new Set(targets)]);
  const connections = createConnections({
    rules: { ceiling: policy, wanted: policy },
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    onEvent: options.onEvent ?? (() => undefined),
    reach: { resolve: createResolve(), ownAddresses: createOwnAddresses(), hostProxy: NO_PROXY, ...options.reach },
    clock,
    tlsOnlyPorts: [],
    httpOnlyPorts: [],
    checksFirstBytes: false,
  });
  const noHttp = () => Promise.reject(new Error('no port of a forward is read as HTTP'));
  let server: HttpClients | undefined;
  return {
    forward: async (name, { signal } = {}) => {
      const address = Object.hasOwn(forwards, name) ? forwards[name] : undefined;
      const split = address === undefined ? undefined : splitPort(address);
      if (split?.port === undefined)
        return {
          kind: 'refused',
          refusal: connections.refuse({ host: name, port: 0 }, { why: 'not-allowed' }, 'tunnel'),
        };
      const target = { host: split.host, port: split.port };
      return openTunnelTo(connections, target, { serveHttp: noHttp, ...(signal && { signal }) });
    },
    serveCredentials: (client) => {
      server ??= createCredentialServer(connections, {
        ...{ credentials, readSecret, onUnreadable },
        // Reading a hundred certificates takes milliseconds, so one context serves all connections.
        secureContext: createSecureContext(certificates === undefined ? {} : { ca: certificates }),
      });
      return server.serve(client);
    },
    close: connections.close,
  };
}
