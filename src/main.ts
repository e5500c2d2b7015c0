import { loadConfig, resolveDataDir, resolveRunDir } from './config/load.ts';
import type { Config } from './config/schema.ts';
import { type DriverFactories, loadDrivers } from './drivers/loaded-drivers.ts';
import { HotcellError } from './errors/hotcell-error.ts';
import type { ExecutionPolicy } from './execution/execute.ts';
import { sessionFacade } from './execution/session-facade.ts';
import { openLiveSandbox } from './guest/live-sandbox.ts';
import { allLanguages } from './languages/table.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { newId } from './lib/ids.ts';
import { notebookSession, type Session } from './notebooks/notebook-session.ts';
import type { Driver, Probe } from './sandbox/driver.ts';
import {
  DRIVER_NAMES,
  type DriverName,
  ISOLATION_LEVELS,
  type IsolationRequest,
  type PassedOver,
} from './sandbox/isolation.ts';
import { chooseIsolation, type IsolationChoice, probeDriver } from './sessions/choose-isolation.ts';
import { createDirectory, type SessionDirectory } from './sessions/directory.ts';
import { requireSameMounts } from './sessions/mounts.ts';
import type { PersistencePlan } from './sessions/persistence.ts';
import { createPool } from './sessions/pool.ts';
import type { RunWatch } from './sessions/run-notes.ts';
import { becomeServer, type Server } from './sessions/server.ts';
import { type Session as CoreSession, createSession, type Slots } from './sessions/session.ts';
import { type SandboxWishes, specFor } from './sessions/spec-for.ts';
import { openTelemetry, type Telemetry } from './telemetry/telemetry.ts';

export type { SessionFiles } from './execution/session-facade.ts';
export type { Session } from './notebooks/notebook-session.ts';

/** Options of one Hotcell. What is left out comes from the environment (`HOTCELL_…`) or the defaults of docs/configuration.md. */
export interface HotcellOptions extends Partial<Config> {
  /** Where environments and records are kept. */
  readonly dataDir?: string;
  /** Drivers in place of the registered ones: for tests. */
  readonly drivers?: DriverFactories;
}

export interface OpenOptions extends SandboxWishes {
  readonly isolation?: IsolationRequest;
  readonly signal?: AbortSignal;
}

/** A running Hotcell: opens sessions, and takes everything down again when it is closed. */
export interface Hotcell extends AsyncDisposable {
  /** A session with a sandbox of its own. Rejects with a HotcellError, with nothing left. */
  open(options?: OpenOptions): Promise<Session>;
  /** What each driver (or the one that is named) can do on this host, by trial. */
  probe(only?: DriverName): Promise<Probe[]>;
  /** What sessions that ask for nothing are isolated by here. Rejects, with what to do, where that does not work. */
  isolation(): Promise<{ driver: DriverName; level: number; passedOver: readonly PassedOver[] }>;
  /** Resolves when all that is made ahead of sessions is there: for measurements. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

const POOL_TOTAL = 32;
const POOL_LEAST_FREE_BYTES = 1_073_741_824;

/** Starts nothing but a lock: the first session pays for what it needs, and nothing else does. */
export async function openHotcell(options: HotcellOptions = {}): Promise<Hotcell> {
  const { hotcell } = await start(options);
  return hotcell;
}

/** What MCP and HTTP stand on: a Hotcell whose sessions have owners, and that tells of itself. */
export interface HotcellServer extends AsyncDisposable {
  readonly hotcell: Hotcell;
  readonly config: Config;
  readonly dataDir: string;
  readonly sessions: SessionDirectory;
  readonly telemetry: Telemetry;
  /** Refuses new work, ends what runs, and leaves nothing. Safe to repeat. */
  close(): Promise<void>;
}

export interface ServerOptions extends HotcellOptions {
  /** Only somebody who serves them needs metrics. */
  readonly metrics?: boolean;
  /** What sessions age by: for tests. */
  readonly clock?: Clock;
}

/** As cheap to start as a Hotcell: some clients start a server only to look at it. */
export async function openServer(serverOptions: ServerOptions = {}): Promise<HotcellServer> {
  const { metrics = false, clock = systemClock, ...options } = serverOptions;
  const { hotcell, config, dataDir, server, openCore, facadeOf } = await start(options);
  const telemetry = await openTelemetry(config, dataDir, { metrics }).catch(async (error: unknown) => {
    await hotcell.close();
    throw error;
  });
  const sessions = createDirectory({
    openSession: async ({ id, slots, watchRun, ...request }, persistence) => {
      const core = await openCore(request, { id, slots, persistence });
      const { spec, state, retire, leave } = core;
      return { session: facadeOf(core, watchRun), spec, state, retire, leave };
    },
    host: server.host,
    records: server.records,
    config,
    clock,
    audit: telemetry.audit,
    metrics: telemetry.metrics,
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
  openCore(wanted: OpenOptions, given?: Partial<GivenToSession>): Promise<CoreSession>;
  facadeOf(core: CoreSession, watchRun?: RunWatch): Session;
}

/** What a server decides for a session, and a user of the library does not. */
interface GivenToSession {
  readonly id: string;
  readonly slots: Slots;
  /** Where it is to outlive the server. */
  readonly persistence: PersistencePlan | undefined;
}

async function start(options: HotcellOptions): Promise<Started> {
  const { dataDir = resolveDataDir(), drivers: givenDrivers = {}, ...given } = options;
  const config = loadConfig(given);
  const { startTimeoutMs } = config;
  const server = await becomeServer(dataDir, resolveRunDir(dataDir));
  const drivers = loadDrivers(server.host, givenDrivers, server.clearAfterDead);
  const pool = createPool(
    { perKind: config.poolSize, total: POOL_TOTAL, leastFreeBytes: POOL_LEAST_FREE_BYTES },
    startTimeoutMs,
  );
  const sessions = new Set<CoreSession>();
  const openings = new Set<Promise<CoreSession>>();
  const stop = new AbortController();
  const choices = new Map<IsolationRequest, Promise<IsolationChoice>>();
  let closing: Promise<void> | undefined;

  function choose(request: IsolationRequest): Promise<IsolationChoice> {
    const known = choices.get(request);
    if (known !== undefined) return known;
    const choice = chooseIsolation(drivers.load, request, config.minIsolation);
    choices.set(request, choice);
    choice.catch(() => choices.delete(request)); // what was missing may be there next time
    return choice;
  }

  async function openSession(wanted: OpenOptions, given: Partial<GivenToSession>): Promise<CoreSession> {
    const { id, persistence } = given;
    const resume = persistence?.resume;
    const spec = {
      ...(resume?.spec ?? (await specFor(config, dataDir, wanted))),
      ...(id === undefined ? {} : { id }),
      ...(persistence === undefined ? {} : { persistent: persistence.alone }),
    };
    const { driver, passedOver } = await choose(wanted.isolation ?? config.isolation);
    if (persistence !== undefined) requirePersisting(driver, passedOver);
    requireOpen();
    // The first sandbox has the session's own id, so that a person finds it; one that replaces it must not meet its remains.
    const make = async (sandboxId: string, signal?: AbortSignal, adopt = false) => {
      await requireSameMounts(spec.mounts);
      const wantedSpec = { ...spec, id: sandboxId };
      await persistence?.keep(wantedSpec, driver.name);
      return openLiveSandbox(driver, wantedSpec, startTimeoutMs, { adopt, signal: endedBy(stop.signal, signal) });
    };
    const first = async () => {
      if (resume !== undefined) return make(resume.spec.id, wanted.signal, true);
      // One that was made ahead would end with this server.
      return (persistence === undefined ? pool.claim(driver, spec) : undefined) ?? make(spec.id, wanted.signal);
    };
    const session: CoreSession = createSession({
      id: spec.id,
      spec,
      passedOver,
      logFolder: server.logFolder(spec.id),
      first: await first(),
      reopen: () => make(newId('s')),
      onClosed: () => sessions.delete(session),
      slots: given.slots,
    });
    sessions.add(session);
    return session;
  }

  async function openCore(wanted: OpenOptions, given: Partial<GivenToSession> = {}): Promise<CoreSession> {
    requireOpen();
    if (sessions.size + openings.size >= config.maxSessions && given.persistence?.resume === undefined) {
      throw new HotcellError('too_many_sessions', `${config.maxSessions} sessions are open, which is the limit`, {
        remedy: 'Close one, or raise maxSessions.',
      });
    }
    const opening = openSession(wanted, given).catch((error: unknown) => {
      requireOpen(); // whatever the closing did to it, this is why
      throw error;
    });
    openings.add(opening);
    return opening.finally(() => openings.delete(opening));
  }

  function requireOpen(): void {
    if (closing !== undefined) throw new HotcellError('session_closed', 'this Hotcell is closed');
  }

  function close(): Promise<void> {
    closing ??= (async () => {
      stop.abort();
      await Promise.allSettled(openings);
      await Promise.all([...sessions].map((session) => session.close()));
      await pool.close();
      await drivers.close();
      await server.release();
    })();
    return closing;
  }

  const probeOne = (name: DriverName) => probeDriver(name, drivers.load[name]);

  // Not before the first session: the languages take longer to read than all the rest of a start.
  let policy: ExecutionPolicy | undefined;
  const facadeOf = (core: CoreSession, watchRun?: RunWatch) => {
    policy ??= policyOf(config);
    return withNotebook(core, policy, config.recordBytes, watchRun);
  };

  const hotcell: Hotcell = {
    open: async (wanted = {}) => facadeOf(await openCore(wanted)),
    close,
    settled: async () => {
      await pool.settled();
      await drivers.settled();
    },
    isolation: async () => {
      const { driver, passedOver } = await choose(config.isolation);
      if (config.isolation !== 'auto') requireAvailable(await probeOne(driver.name));
      return { driver: driver.name, level: ISOLATION_LEVELS[driver.name], passedOver };
    },
    probe: (only) => Promise.all((only === undefined ? DRIVER_NAMES : [only]).map(probeOne)),
    [Symbol.asyncDispose]: close,
  };
  return { hotcell, config, dataDir, server, openCore, facadeOf };
}

function withNotebook(core: CoreSession, policy: ExecutionPolicy, recordBytes: number, watchRun?: RunWatch): Session {
  const facade = sessionFacade(core, core.isolationOf(core.first), policy);
  if (watchRun === undefined) return notebookSession(facade, recordBytes);
  const run: Session['run'] = (code, options = {}) => watchRun(code, options, (given) => facade.run(code, given));
  return notebookSession({ ...facade, run }, recordBytes);
}

/** Never silently less than asked: a sandbox that would end with the server is refused, and who can is named. */
function requirePersisting(driver: Driver, passedOver: readonly PassedOver[]): void {
  if (driver.adopt !== undefined) return;
  const reasons = passedOver.map((passed) => ` ${passed.driver}: ${passed.reason}.`).join('');
  throw new HotcellError('not_persistent', `${driver.name}: its sandboxes end with the server`, {
    remedy: `Open it with isolation docker or gvisor, or without persistent.${reasons}`,
    data: { passedOver },
  });
}

function requireAvailable(probe: Probe): void {
  if (probe.available) return;
  throw new HotcellError('driver_unavailable', `${probe.driver}: ${probe.reason}`, { remedy: probe.remedy });
}

function endedBy(stop: AbortSignal, signal: AbortSignal | undefined): AbortSignal {
  return signal === undefined ? stop : AbortSignal.any([stop, signal]);
}

function policyOf(config: Config): ExecutionPolicy {
  return {
    defaultTimeoutMs: config.timeoutMs,
    maxTimeoutMs: config.maxTimeoutMs,
    maxCodeBytes: config.maxCodeBytes,
    languages: allLanguages(config.recipes),
    output: {
      headBytes: Math.floor(config.outputBytes / 2),
      tailBytes: Math.ceil(config.outputBytes / 2),
      logBytes: config.logBytes,
      displayBytes: 32 * 1_048_576,
    },
  };
}
