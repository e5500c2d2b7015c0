import type { BoundSession, Broker } from '../broker/broker.ts';
import type { InstallInto, SessionInstalls } from '../broker/installs.ts';
import type { SessionNetworks } from '../broker/networks.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { NetworkControl } from '../execution/network-control.ts';
import type { LiveSandbox } from '../guest/live-sandbox.ts';
import type { GuestNetwork } from '../guest/network.ts';
import type { NetworkEvent, NetworkRules, NetworkSetting, SessionNetwork } from '../network/contract.ts';
import { allowsSomething } from '../network/session-rules.ts';
import { upstreamListeners } from '../network/upstreams/listeners.ts';
import type { SessionUpstreams } from '../network/upstreams/session-upstreams.ts';
import { type Upstreams, upstreamNames } from '../network/upstreams/upstream.ts';
import { networkVariables, PROXY } from './network-variables.ts';
import { createRefusalWatches } from './refusal-watches.ts';

/** The network and the calls of one session, over all its sandboxes. Called by `live-sessions.ts`. */
export interface SessionNetworking extends NetworkControl {
  /**
   * Makes a sandbox the session's: serves its calls, and opens its network. If the guest fails or does not answer in
   * time, the sandbox is disposed of, and this rejects. A session without a network and without methods costs nothing.
   */
  give(live: LiveSandbox): Promise<LiveSandbox>;
  /** Installs packages in this way when a program asks for it, if the session may install any. */
  installWith(install: InstallInto): void;
  /** Closes all connections. Idempotent. */
  close(): void;
}

export interface SessionNetworkingOptions {
  readonly session: Pick<BoundSession, 'owner' | 'session' | 'onCall'>;
  /** The setting to begin with, whose rules are checked. */
  readonly begin: NetworkBeginning;
  /** The rules of another setting. Rejects with `network_denied`. */
  readonly rulesOf: (setting: NetworkSetting, granted: readonly string[]) => Promise<NetworkRules>;
  /** Methods that every session may call. */
  readonly methods: readonly string[];
  /** The services that the session may use, whatever its network is. */
  readonly services: Upstreams;
  /** The installations of all sessions. Undefined for a session that may install nothing. */
  readonly installs: SessionInstalls | undefined;
  /** The parts that serve calls and connections, imported with the first session that needs them. */
  readonly calls: () => Promise<Calls>;
  readonly caBundle: () => Promise<Buffer>;
  readonly startTimeoutMs: number;
  readonly onEvent: ((event: NetworkEvent) => void) | undefined;
  readonly onUnreadable: ServiceCallbacks['onUnreadable'];
}

export interface NetworkBeginning {
  readonly setting: NetworkSetting;
  readonly rules: NetworkRules;
  /** Rules that a person allowed beyond the ceiling. */
  readonly granted: readonly string[];
}

/** The parts that serve the calls of all sessions. */
export interface Calls {
  readonly broker: Broker;
  readonly networks: SessionNetworks;
  /** Methods that a session with a network may call. */
  readonly networkMethods: readonly string[];
  /** Methods that a session with services may call. */
  readonly serviceMethods: readonly string[];
  /** Methods that a session may call that may install packages. */
  readonly installMethods: readonly string[];
  createNetwork(rules: NetworkRules, onEvent: (event: NetworkEvent) => void): SessionNetwork;
  createServices(services: Upstreams, callbacks: ServiceCallbacks): Promise<SessionUpstreams>;
}

export interface ServiceCallbacks {
  readonly onEvent: (event: NetworkEvent) => void;
  readonly onUnreadable: ((name: string, why: string) => void) | undefined;
}

const CLOSED: GuestNetwork = { listen: [], variables: {} };
const OPEN: GuestNetwork = { listen: [{ name: PROXY, kind: 'proxy' }], variables: networkVariables() };

export function createSessionNetworking(options: SessionNetworkingOptions): SessionNetworking {
  const { session, rulesOf, methods, services, installs, calls, caBundle, startTimeoutMs } = options;
  const hasServices = upstreamNames(services).length > 0;
  const forServices = upstreamListeners(services);
  const refusals = createRefusalWatches();
  let { setting, rules, granted } = options.begin;
  let network: SessionNetwork | undefined;
  let served: SessionUpstreams | undefined;
  let isClosed = false;
  /** The last request to each sandbox: it is asked for changes alone, because rules are the host's affair. */
  const told = new WeakMap<LiveSandbox, string>();
  // One at a time, so that a sandbox is never left with an older setting.
  let changes: Promise<unknown> = Promise.resolve();
  let givings: Promise<unknown> = Promise.resolve();

  function onEvent(event: NetworkEvent): void {
    if (event.event === 'refused') refusals.add(event.refusal);
    options.onEvent?.(event);
  }

  const isOpen = () => !isClosed && allowsSomething(rules.wanted) && allowsSomething(rules.ceiling);

  async function openServices({ networks, createServices }: Calls): Promise<void> {
    if (!hasServices || served !== undefined || isClosed) return;
    served = await createServices(services, { onEvent, onUnreadable: options.onUnreadable });
    if (isClosed) served.close();
    else networks.add(session.session, { services: served, onEvent });
  }

  function applyRules({ networks, createNetwork }: Calls): void {
    if (network !== undefined) network.change(rules);
    else if (isOpen()) {
      network = createNetwork(rules, onEvent);
      networks.add(session.session, { network, onEvent });
    }
  }

  async function tell(live: LiveSandbox): Promise<void> {
    if (installs === undefined) await withdrawInstaller(live);
    if (!isOpen() && !hasServices && !installs && methods.length === 0 && !told.has(live)) {
      // One that was taken over may have a network of the server before.
      await live.network(CLOSED);
      return;
    }
    const parts = await calls();
    applyRules(parts);
    await openServices(parts);
    const offered = [
      ...methods,
      ...(isOpen() ? parts.networkMethods : []),
      ...(hasServices ? parts.serviceMethods : []),
      ...(installs ? parts.installMethods : []),
    ];
    const inside = isOpen() ? together(OPEN, forServices) : forServices;
    const telling = JSON.stringify([offered, inside.listen]);
    if (told.get(live) === telling) return;
    if (installs !== undefined && !told.has(live)) await offerInstaller(live);
    parts.broker.bind(live, { ...session, methods: new Set(offered) });
    await live.network(isOpen() ? { ...inside, caBundle: await caBundle() } : inside);
    told.set(live, telling);
  }

  function give(live: LiveSandbox): Promise<void> {
    const giving = givings.then(() => tell(live));
    givings = giving.catch(() => {});
    return giving;
  }

  return {
    setting: () => setting,
    services: () => upstreamNames(services),
    watchRefusals: refusals.begin,
    give: async (live) => {
      try {
        await inTime(give(live), startTimeoutMs);
        return live;
      } catch (error) {
        await live.dispose().catch(() => {});
        throw error;
      }
    },
    set: (wanted, { granted: more = [], use }) => {
      const change = changes.then(async () => {
        const all = [...new Set([...granted, ...more])];
        const found = await rulesOf(wanted, all);
        ({ setting, rules, granted } = { setting: wanted, rules: found, granted: all });
        // SECURITY: connections that are no longer allowed end here, whatever the guest does.
        network?.change(rules);
        await use(give);
      });
      changes = change.catch(() => {});
      return change;
    },
    installWith: (install) => installs?.add(session.session, install),
    close: () => {
      isClosed = true;
      installs?.remove(session.session);
      if (network === undefined && served === undefined) return;
      network?.close();
      served?.close();
      void calls().then(({ networks }) => networks.remove(session.session));
    },
  };
}

/** Without it, the sandbox has the real pip, and a failure to add it is no reason to refuse the session. */
async function offerInstaller(live: LiveSandbox): Promise<void> {
  const { addInstaller } = await import('../guest/layers/add-installer.ts');
  await addInstaller(live).catch(() => {});
}

/** A fork that was made ahead has it, whatever its session may do. */
async function withdrawInstaller({ sandbox }: LiveSandbox): Promise<void> {
  if (sandbox.layers === undefined) return;
  const { removeInstaller } = await import('../guest/layers/bound-installer.ts');
  removeInstaller(sandbox.layers);
}

function together(one: GuestNetwork, other: GuestNetwork): GuestNetwork {
  return { listen: [...one.listen, ...other.listen], variables: { ...one.variables, ...other.variables } };
}

/** SECURITY: a guest may be a caller's program, and stay silent. */
async function inTime(work: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new HotcellError('start_timeout', `the guest did not open its network within ${limitMs} ms`, {
          remedy: 'Retry; if the host is slow, raise startTimeoutMs.',
        }),
      );
    }, limitMs);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
