import type { Method } from './broker/method.ts';
import { loadConfig, networkEnvironment, resolveDataDir, resolveRunDir, secretVariables } from './config/load.ts';
import type { Config } from './config/schema.ts';
import type { SessionDirectory } from './directory/directory.ts';
import { standardImageTag } from './drivers/docker/image.ts';
import { type DriverFactories, loadDrivers } from './drivers/loaded-drivers.ts';
import { HotcellError } from './errors/hotcell-error.ts';
import type { ExecutionPolicy } from './execution/execution.ts';
import { policyOf } from './execution/policy.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import type { NetworkSetting, RegistryHosts } from './network/contract.ts';
import type { Reach } from './network/open-socket.ts';
import { settingList } from './network/session-rules.ts';
import type { CredentialsInput } from './network/upstreams/upstream.ts';
import type { Installer } from './packages/installer.ts';
import { createRegistries, type Registries } from './registries/registries.ts';
import type { Probe } from './sandbox/driver.ts';
import { DRIVER_NAMES, type DriverName, type PassedOver } from './sandbox/isolation.ts';
import { probeDriver } from './sessions/choose-isolation.ts';
import { createFileRegistry } from './sessions/file-registry.ts';
import type { SessionPackages } from './sessions/installation.ts';
import { createIsolationChoices } from './sessions/isolation-choices.ts';
import { createLiveSessions, type LiveSessions } from './sessions/live-sessions.ts';
import { createNetworking } from './sessions/networking.ts';
import type { OpenOptions } from './sessions/open-options.ts';
import type { LiveSession } from './sessions/open-session.ts';
import { becomeServer, type Server } from './sessions/server.ts';
import { type AboutServer, ownFacts } from './sessions/server-facts.ts';
import type { Session } from './sessions/session.ts';
import type { Logger } from './telemetry/logger.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

export type { OpenOptions } from './sessions/open-options.ts';
export type { Session } from './sessions/session.ts';
export type { SessionFiles } from './sessions/session-files.ts';

/**
 * Options of one Hotcell. Omitted options come from the environment (`HOTCELL_…`) or the defaults of
 * docs/configuration.md.
 */
export interface HotcellOptions extends Partial<Omit<Config, 'network' | 'sessionNetwork' | 'credentials'>> {
  /** The most that sessions may reach. */
  readonly network?: NetworkSetting;
  /** The network of a session that asks for no other. */
  readonly sessionNetwork?: NetworkSetting;
  /** Secrets that the host adds to requests of sessions (docs/guides/network.md). */
  readonly credentials?: CredentialsInput;
  /** Folder for environments and records. */
  readonly dataDir?: string;
  /** Drivers in place of the registered ones, for tests. */
  readonly drivers?: DriverFactories;
  /** Methods that all sandboxes can call, besides the registered ones, for tests. */
  readonly methods?: readonly Method[];
  /** The hosts that the word `registries` means, in place of those that this host's pip, uv, npm and apt use; for tests. */
  readonly registryHosts?: RegistryHosts;
  /** The registries that packages are installed from, in place of those of this host; for tests. */
  readonly registries?: Registries;
  /** System calls of connections in place of the real ones, for tests. */
  readonly reach?: Partial<Reach>;
  /** Clock for the age of locks of packages, and of a server's sessions; for tests. */
  readonly clock?: Clock;
  /** What `hotcell status` shows of this process, besides its sessions. */
  readonly about?: () => AboutServer;
}

/** A running Hotcell: it opens sessions, and closes them all when it is closed. */
export interface Hotcell extends AsyncDisposable {
  /** Opens a session with a sandbox of its own. Rejects with a HotcellError and leaves nothing behind. */
  open(options?: OpenOptions): Promise<Session>;
  /** Tests what each driver (or the named one) can do on this host. */
  probe(only?: DriverName): Promise<Probe[]>;
  /** The default isolation of sessions on this host. Rejects with a remedy if it does not work. */
  isolation(): Promise<{ driver: DriverName; level: number; passedOver: readonly PassedOver[] }>;
  /** Resolves when the pool and all forks ahead are ready and no closed session is being removed. For measurements. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a Hotcell. It only takes a lock: the first session pays for what it needs. */
export async function openHotcell(options: HotcellOptions = {}): Promise<Hotcell> {
  const { hotcell } = await start(options);
  return hotcell;
}

/** A Hotcell whose sessions have owners, with audit log and metrics. MCP and HTTP build on it. */
export interface HotcellServer extends AsyncDisposable {
  readonly hotcell: Hotcell;
  readonly config: Config;
  readonly dataDir: string;
  readonly sessions: SessionDirectory;
  readonly telemetry: Telemetry;
  /** Refuses new work, ends running work, and leaves nothing behind. Idempotent. */
  close(): Promise<void>;
}

export interface ServerOptions extends HotcellOptions {
  /** Whether to collect metrics. Only a server that exposes them needs them. */
  readonly metrics?: boolean;
  /** Log of the caller, in place of one that the options describe. The server closes it. */
  readonly logger?: Logger;
}

/** Starts a server, as cheaply as a Hotcell: some clients start one only to list its tools. */
export async function openServer(serverOptions: ServerOptions = {}): Promise<HotcellServer> {
  const { metrics = false, logger, ...options } = serverOptions;
  const { clock = systemClock } = options;
  // Imported here, because a Hotcell without owners needs neither.
  const [{ createDirectory }, { openTelemetry }] = await Promise.all([
    import('./directory/directory.ts'),
    import('./telemetry/telemetry.ts'),
  ]);
  const { hotcell, config, dataDir, server, live, policy, packages } = await start(options);
  const telemetry = await openTelemetry(config, dataDir, { metrics, logger }).catch(async (error: unknown) => {
    await hotcell.close();
    throw error;
  });
  const sessions = createDirectory({
    live,
    policy,
    host: server.host,
    records: server.records,
    standardImage: standardImageTag,
    packages,
    config,
    clock,
    feed: telemetry.feed,
    logger: telemetry.logger,
  });
  telemetry.watch(sessions.census);
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= (async () => {
      await sessions.shutdown();
      await hotcell.close();
      await telemetry.close();
    })();
    return closing;
  };
  return { hotcell, config, dataDir, sessions, telemetry, close, [Symbol.asyncDispose]: close };
}

interface Started {
  readonly hotcell: Hotcell;
  readonly config: Config;
  readonly dataDir: string;
  readonly server: Server;
  readonly live: LiveSessions;
  readonly policy: () => ExecutionPolicy;
  readonly packages: (core: LiveSession) => SessionPackages;
}

async function start(options: HotcellOptions): Promise<Started> {
  const { dataDir = resolveDataDir(), drivers: givenDrivers = {}, about, ...others } = options;
  const {
    methods = [],
    registries = createRegistries(),
    clock = systemClock,
    reach,
    network,
    sessionNetwork,
    credentials,
    ...given
  } = others;
  const { registryHosts = () => registries.hosts(), ...configured } = given;
  const settings = { ...listed({ network, sessionNetwork }), ...(credentials === undefined ? {} : { credentials }) };
  const config = loadConfig({ ...configured, ...settings } as Partial<Config>, { dataDir });
  const folders = { dataDir, runRoot: resolveRunDir(dataDir) };
  let countSessions = () => 0; // until there are any
  const server = await becomeServer(folders, createFileRegistry(folders), () => ownFacts(countSessions(), about?.()));
  const drivers = loadDrivers(server.host, givenDrivers, server.clearAfterDead);
  const choose = createIsolationChoices(drivers.offered, config.minIsolation);
  const environment = networkEnvironment();
  const secrets = secretVariables(config);
  const networking = createNetworking({ config, environment, secrets, methods, registryHosts, reach });
  const live = createLiveSessions(config, server, choose, {
    declared: drivers.offered,
    networking,
    packages: {
      install: (core, { packages, ...how }) => installing(core).install(packages, how),
      trees: async (core, layers) => (await installer()).trees(core, layers),
    },
  });
  countSessions = live.count;
  const probeOne = (name: DriverName) => probeDriver(name, drivers.offered[name]);
  let closing: Promise<void> | undefined;

  function close(): Promise<void> {
    closing ??= (async () => {
      await live.close();
      await drivers.close();
      await server.release();
    })();
    return closing;
  }

  // Read with the first session: reading the languages takes longer than the rest of a start.
  let known: ExecutionPolicy | undefined;
  const policy = () => {
    known ??= policyOf(config);
    return known;
  };

  /** Imported with the first installation. */
  let opening: Promise<Installer> | undefined;
  const installer = () => {
    opening ??= (async () => {
      const { openInstaller } = await import('./packages/open-installer.ts');
      return openInstaller({ live, config, policy, environment, reach, registries, server, choose, clock });
    })();
    return opening;
  };
  const installing = packagesOf(installer);

  const hotcell: Hotcell = {
    open: async (wanted = {}) => {
      const core = await live.open(wanted);
      const { createSession } = await import('./sessions/session.ts');
      return createSession(core, {
        policy: policy(),
        recordBytes: config.recordBytes,
        ...(wanted.mayInstall === false ? {} : { packages: installing(core) }),
      });
    },
    close,
    settled: async () => {
      await live.settled();
      await drivers.settled();
    },
    isolation: async () => {
      const { driver, level, passedOver } = await choose(config.isolation);
      if (config.isolation === 'auto') return { driver: driver.name, level, passedOver };
      const { isolation } = requireAvailable(await probeOne(driver.name));
      return { driver: driver.name, level: isolation.level, passedOver };
    },
    probe: (only) => Promise.all((only === undefined ? DRIVER_NAMES : [only]).map(probeOne)),
    [Symbol.asyncDispose]: close,
  };
  return { hotcell, config, dataDir, server, live, policy, packages: installing };
}

/** The packages of each session. */
function packagesOf(installer: () => Promise<Installer>): (core: LiveSession) => SessionPackages {
  return (core) => ({
    install: async (packages, { signal, onProgress, ...how } = {}) =>
      (await installer()).install(core, { packages, ...how }, { signal, onProgress }),
    installations: core.installed.all,
  });
}

/** Network settings as the configuration has them. */
function listed(settings: Readonly<Record<string, NetworkSetting | undefined>>): Partial<Config> {
  const given = Object.entries(settings).filter(([, setting]) => setting !== undefined);
  return Object.fromEntries(given.map(([name, setting]) => [name, [...settingList(setting!)]]));
}

function requireAvailable(probe: Probe): Extract<Probe, { available: true }> {
  if (probe.available) return probe;
  throw new HotcellError('driver_unavailable', `${probe.driver}: ${probe.reason}`, { remedy: probe.remedy });
}
