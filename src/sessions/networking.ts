import type { BoundSession } from '../broker/broker.ts';
import { createSessionInstalls, type SessionInstalls } from '../broker/installs.ts';
import type { Method } from '../broker/method.ts';
import type { Config } from '../config/schema.ts';
import { systemClock } from '../lib/clock.ts';
import type { NetworkEvent, NetworkSetting, RegistryHosts } from '../network/contract.ts';
import type { Reach } from '../network/open-socket.ts';
import { ceilingOf, isNone, sessionRules } from '../network/session-rules.ts';
import { chooseUpstreams } from '../network/upstreams/choose-upstreams.ts';
import type { ReadSecret } from '../network/upstreams/secret.ts';
import { type Calls, createSessionNetworking, type SessionNetworking } from './session-networking.ts';

/** Gives the sessions of one Hotcell their networks and their calls. `main.ts` makes one. */
export interface Networking {
  /** The network of a new session. Rejects with `network_denied` before anything is made. */
  begin(session: NetworkedSession): Promise<SessionNetworking>;
}

export interface NetworkedSession extends Pick<BoundSession, 'owner' | 'session' | 'onCall'> {
  /** The setting that a caller asked for. */
  readonly asked: NetworkSetting | undefined;
  /** The setting of a session that another server opened. */
  readonly kept: NetworkSetting | undefined;
  /** The ceiling of the owner, in place of the configured one, whose denials stay. */
  readonly ceiling: NetworkSetting | undefined;
  readonly granted: readonly string[] | undefined;
  /** Names of the services that the owner may use; undefined for all. */
  readonly allowedServices: readonly string[] | undefined;
  /** Names of those that the session asks for; undefined for all of these. */
  readonly services: readonly string[] | undefined;
  /** Names of those that a session had which another server opened. */
  readonly keptServices: readonly string[] | undefined;
  /** Whether programs of the session may install packages. */
  readonly mayInstall: boolean;
  readonly onEvent: ((event: NetworkEvent) => void) | undefined;
  /** Called if the secret of a credential cannot be read, with the reason, which names no secret. */
  readonly onUnreadable: ((name: string, why: string) => void) | undefined;
}

export interface NetworkingOptions {
  readonly config: Pick<
    Config,
    LimitOption | ServiceOption | 'network' | 'sessionNetwork' | 'startTimeoutMs' | 'maxConnectionsPerOwner'
  >;
  /** The environment of the host, as far as it is about the network. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Variables of the host that secrets of credentials are read from. */
  readonly secrets: Readonly<Record<string, string | undefined>>;
  /** Methods that every session may call. */
  readonly methods: readonly Method[];
  readonly registryHosts: RegistryHosts;
  /** System calls that tests replace. */
  readonly reach: Partial<Reach> | undefined;
}

type ServiceOption = 'forwards' | 'credentials';
type LimitOption = 'maxConnections' | 'maxSentBytes' | 'maxReceivedBytes' | 'connectionIdleMs';

export function createNetworking(options: NetworkingOptions): Networking {
  const { config, environment, methods, registryHosts } = options;
  const installs = createSessionInstalls();
  let loaded: Promise<Calls> | undefined;
  // A session without a network and without methods imports nothing.
  const calls = () => {
    loaded ??= loadCalls(options, installs);
    return loaded;
  };

  return {
    async begin(networked) {
      const { asked, kept, granted = [], onEvent, onUnreadable, ...others } = networked;
      const { allowedServices, services, keptServices, mayInstall, ceiling: own, ...session } = others;
      const ceiling = ceilingOf(config.network, own);
      // Loaded while the sandbox starts. A failure is reported by the first use.
      if (mayInstall) calls().catch(() => {});
      const setting = asked ?? kept ?? (isNone(ceiling) ? 'none' : config.sessionNetwork);
      const rulesOf = (wanted: NetworkSetting, allowed: readonly string[], isAsked = true) =>
        sessionRules({ ceiling, wanted, isAsked, granted: allowed }, registryHosts);
      return createSessionNetworking({
        session,
        begin: { setting, granted, rules: await rulesOf(setting, granted, asked !== undefined) },
        rulesOf,
        methods: methods.map(({ name }) => name),
        services: chooseUpstreams(config, { allowed: allowedServices, asked: services, kept: keptServices }),
        installs: mayInstall ? installs : undefined,
        calls,
        caBundle: () => loadCaBundle(environment),
        startTimeoutMs: config.startTimeoutMs,
        onEvent,
        onUnreadable,
      });
    },
  };
}

async function loadCalls(options: NetworkingOptions, installs: SessionInstalls): Promise<Calls> {
  const { config, environment, methods, secrets } = options;
  const [broker, { createSessionNetworks }, registry, { createSessionNetwork }, { readHostProxy }, { createResolve }] =
    await Promise.all([
      import('../broker/broker.ts'),
      import('../broker/networks.ts'),
      import('../broker/registry.ts'),
      import('../network/session-network.ts'),
      import('../network/host-proxy.ts'),
      import('../network/resolve.ts'),
    ]);
  const networks = createSessionNetworks({ perOwner: config.maxConnectionsPerOwner });
  const { maxConnections: connections, maxSentBytes, maxReceivedBytes, connectionIdleMs: idleMs } = config;
  const limits = { connections, sentBytes: maxSentBytes, receivedBytes: maxReceivedBytes, idleMs };
  // One resolver for all sessions: it shares the lookups of a host, each of which takes a thread of the process.
  const reach = { hostProxy: readHostProxy(environment), resolve: createResolve(), ...options.reach };
  // One for all sessions: a command that prints a secret runs once for them.
  let secretsReader: ReadSecret | undefined;
  return {
    broker: broker.createBroker([...registry.methodsFrom({ networks, installs }), ...methods]),
    networks,
    networkMethods: registry.NETWORK_METHODS,
    serviceMethods: registry.SERVICE_METHODS,
    installMethods: registry.INSTALL_METHODS,
    createNetwork: (rules, onEvent) => createSessionNetwork({ rules, limits, onEvent, reach }),
    createServices: async (services, { onEvent, onUnreadable = () => {} }) => {
      const [{ createSessionUpstreams }, { createReadSecret }] = await Promise.all([
        import('../network/upstreams/session-upstreams.ts'),
        import('../network/upstreams/secret.ts'),
      ]);
      secretsReader ??= createReadSecret(secrets, systemClock);
      const readSecret = secretsReader;
      const certificates = await loadCaBundle(environment);
      return createSessionUpstreams({ services, limits, onEvent, onUnreadable, readSecret, reach, certificates });
    },
  };
}

/** Imported here: Node's TLS is large, and most sessions have no network. */
async function loadCaBundle(environment: NetworkingOptions['environment']): Promise<Buffer> {
  const [{ readCaBundle }, { MAX_CA_BUNDLE_BYTES }] = await Promise.all([
    import('../network/ca-bundle.ts'),
    import('../guest/network.ts'),
  ]);
  return readCaBundle(environment, { mostBytes: MAX_CA_BUNDLE_BYTES });
}
