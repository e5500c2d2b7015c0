import { rmSync } from 'node:fs';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig, parseOptions, resolveDataDir, resolveRunDir } from './config/load.ts';
import { type Config, limitsSchema } from './config/schema.ts';
import { DRIVERS } from './drivers/registry.ts';
import { HotcellError } from './errors/hotcell-error.ts';
import { type Execution, type ExecutionOptions, type ExecutionPolicy, execute } from './execution/execute.ts';
import { listFolder, readPieces, readWhole, removePath, type WriteMode, writePieces } from './guest/files.ts';
import type { FileEntry } from './guest/messages.ts';
import { newId } from './lib/ids.ts';
import { installationId } from './lib/installation.ts';
import { deadServers, forgetServer, holdServerLock, isServerAlive, type ServerLock } from './lib/server-lock.ts';
import type { Driver, Probe } from './sandbox/driver.ts';
import type { Host } from './sandbox/host.ts';
import { DRIVER_NAMES, type DriverName, type Isolation, type IsolationRequest } from './sandbox/isolation.ts';
import type { Limits, SandboxSpec } from './sandbox/spec.ts';
import { chooseIsolation, type IsolationChoice } from './sessions/choose-isolation.ts';
import { type LiveSandbox, openLiveSandbox } from './sessions/live-sandbox.ts';
import { deniedByDefault, type MountRequest, resolveMounts } from './sessions/mounts.ts';
import { createPool } from './sessions/pool.ts';
import { type Session as CoreSession, createSession } from './sessions/session.ts';

const GiB = 1_073_741_824;

/** Options of one Hotcell. What is left out comes from the environment (`HOTCELL_…`) or the defaults of docs/configuration.md. */
export interface HotcellOptions extends Partial<Config> {
  /** Where environments and records are kept. */
  readonly dataDir?: string;
  /** Drivers in place of the registered ones: for tests. */
  readonly drivers?: Partial<Record<DriverName, (host: Host) => Promise<Driver>>>;
}

export interface OpenOptions {
  readonly isolation?: IsolationRequest;
  readonly owner?: string;
  readonly image?: string;
  readonly limits?: Partial<Limits>;
  readonly mounts?: readonly MountRequest[];
  readonly preloads?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** A running Hotcell: opens sessions, and takes everything down again when it is closed. */
export interface Hotcell extends AsyncDisposable {
  /** A session with a sandbox of its own. Rejects with a HotcellError, with nothing left. */
  open(options?: OpenOptions): Promise<Session>;
  /** What each driver (or the one that is named) can do on this host, by trial. */
  probe(only?: DriverName): Promise<Probe[]>;
  /** Resolves when the pool has made what it was going to: for measurements. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** One sandbox with live state. `await using session = await hotcell.open()` closes it at the end of the block. */
export interface Session extends AsyncDisposable {
  readonly id: string;
  readonly isolation: Isolation;
  /** Runs Python. Iterate over the execution for its output as it comes; await it for the result. */
  run(code: string, options?: ExecutionOptions): Execution;
  /** Forgets all variables and ends all processes; files stay. */
  reset(): Promise<void>;
  readonly files: SessionFiles;
  close(): Promise<void>;
}

/** Files of the workspace. Paths are relative to it; none leads out of it. */
export interface SessionFiles {
  read(path: string, options?: { limitBytes?: number }): Promise<Buffer>;
  /** The file in pieces, never whole in memory. */
  stream(path: string, range?: { offset?: number; length?: number }): AsyncIterable<Buffer>;
  write(
    path: string,
    content: string | Uint8Array | AsyncIterable<Uint8Array>,
    options?: { mode?: WriteMode },
  ): Promise<{ sizeBytes: number }>;
  list(
    path?: string,
    options?: { recursive?: boolean; limit?: number },
  ): Promise<{ entries: FileEntry[]; omitted: number }>;
  remove(path: string, options?: { recursive?: boolean }): Promise<void>;
}

/** Starts nothing but a lock: the first session pays for what it needs, and nothing else does. */
export async function openHotcell(options: HotcellOptions = {}): Promise<Hotcell> {
  const { dataDir: givenDataDir, drivers: givenDrivers, ...given } = options;
  const config = loadConfig(given);
  const dataDir = givenDataDir ?? resolveDataDir();
  const { host, lock } = await takeHost(dataDir);
  const drivers = loadedOnce(host, givenDrivers ?? {});
  const pool = createPool({ perKind: config.poolSize, total: 32, leastFreeBytes: GiB }, config.startTimeoutMs);
  const sessions = new Set<CoreSession>();
  const openings = new Set<Promise<Session>>();
  const stop = new AbortController();
  let closing: Promise<void> | undefined;
  const choices = new Map<IsolationRequest, Promise<IsolationChoice>>();

  function choose(request: IsolationRequest): Promise<IsolationChoice> {
    const known = choices.get(request);
    if (known !== undefined) return known;
    const choice = chooseIsolation(drivers.load, request, config.minIsolation);
    choices.set(request, choice);
    choice.catch(() => choices.delete(request)); // what was missing may be there next time
    return choice;
  }

  async function open(wanted: OpenOptions = {}): Promise<Session> {
    requireOpen();
    if (sessions.size + openings.size >= config.maxSessions) {
      throw new HotcellError('too_many_sessions', `${config.maxSessions} sessions are open, which is the limit`, {
        remedy: 'Close one, or raise maxSessions.',
      });
    }
    const opening = openOne(
      wanted,
      wanted.signal === undefined ? stop.signal : AbortSignal.any([stop.signal, wanted.signal]),
    );
    openings.add(opening);
    return opening.finally(() => openings.delete(opening));
  }

  async function openOne(wanted: OpenOptions, signal: AbortSignal): Promise<Session> {
    try {
      const spec = await specFor(config, dataDir, wanted);
      const { driver, passedOver } = await choose(wanted.isolation ?? config.isolation);
      requireOpen();
      const first = await claimOrOpen(driver, spec, signal);
      const session: CoreSession = createSession({
        id: spec.id,
        spec,
        passedOver,
        logFolder: join(dataDir, 'logs', host.serverId, spec.id),
        first,
        reopen: (reopenSignal) =>
          openLiveSandbox(driver, { ...spec, id: newId('s') }, config.startTimeoutMs, { signal: reopenSignal }),
        onClosed: () => sessions.delete(session),
      });
      sessions.add(session);
      return sessionFacade(session, session.isolationOf(first), policyOf(config));
    } catch (error) {
      requireOpen(); // whatever the closing did to it, this is why
      throw error;
    }
  }

  function requireOpen(): void {
    if (closing !== undefined) throw new HotcellError('session_closed', 'this Hotcell is closed');
  }

  async function claimOrOpen(driver: Driver, spec: SandboxSpec, signal: AbortSignal): Promise<LiveSandbox> {
    return pool.claim(driver, spec) ?? (await openLiveSandbox(driver, spec, config.startTimeoutMs, { signal }));
  }

  function close(): Promise<void> {
    closing ??= (async () => {
      stop.abort();
      await Promise.allSettled(openings);
      await Promise.all([...sessions].map((session) => session.close()));
      await pool.close();
      await drivers.close();
      await rm(join(dataDir, 'logs', host.serverId), { recursive: true, force: true }).catch(() => {});
      await rm(host.runDir, { recursive: true, force: true });
      await lock.release();
    })();
    return closing;
  }

  return {
    open,
    close,
    settled: () => pool.settled(),
    probe: (only) =>
      Promise.all(
        DRIVER_NAMES.filter((name) => only === undefined || name === only).map(async (name) =>
          (await drivers.load[name]()).probe(),
        ),
      ),
    [Symbol.asyncDispose]: close,
  };
}

function sessionFacade(session: CoreSession, isolation: Isolation, policy: ExecutionPolicy): Session {
  const connection = async () => (await session.live()).connection;
  return {
    id: session.id,
    isolation,
    run: (code, options = {}) => execute(session, code, options, policy),
    reset: async () => {
      await (await connection()).request({ type: 'restart' });
    },
    files: {
      read: async (path, options = {}) => readWhole(await connection(), path, options.limitBytes ?? 64 * 1_048_576),
      stream: async function* (path, range) {
        yield* readPieces(await connection(), path, range);
      },
      write: async (path, content, options = {}) => ({
        sizeBytes: await writePieces(await connection(), path, options.mode ?? 'replace', asPieces(content)),
      }),
      list: async (path = '.', options = {}) =>
        listFolder(await connection(), path, { recursive: options.recursive ?? false, limit: options.limit ?? 1000 }),
      remove: async (path, options = {}) => removePath(await connection(), path, options.recursive ?? false),
    },
    close: () => session.close(),
    [Symbol.asyncDispose]: () => session.close(),
  };
}

function asPieces(content: string | Uint8Array | AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> | Uint8Array[] {
  if (typeof content === 'string') return [Buffer.from(content)];
  return content instanceof Uint8Array ? [content] : content;
}

async function specFor(config: Config, dataDir: string, wanted: OpenOptions): Promise<SandboxSpec> {
  const image = wanted.image ?? config.image;
  return {
    id: newId('s'),
    owner: wanted.owner ?? 'local',
    limits: parseOptions(limitsSchema, withDerivedDisk(wanted.limits ?? {})),
    mounts: await resolveMounts(wanted.mounts ?? [], {
      roots: config.mountRoots,
      denied: [...deniedByDefault(dataDir), ...config.mountDenied],
    }),
    preloads: wanted.preloads ?? config.preloads,
    environment: wanted.environment ?? {},
    ...(image === undefined ? {} : { image }),
  };
}

/** Who asks for little memory and says nothing of the disk gets a disk that fits into it. */
function withDerivedDisk(limits: Partial<Limits>): Partial<Limits> {
  if (limits.memoryBytes === undefined || limits.diskBytes !== undefined) return limits;
  return { ...limits, diskBytes: Math.min(GiB, Math.floor(limits.memoryBytes / 2)) };
}

function policyOf(config: Config): ExecutionPolicy {
  return {
    defaultTimeoutMs: config.timeoutMs,
    maxTimeoutMs: config.maxTimeoutMs,
    maxCodeBytes: config.maxCodeBytes,
    output: {
      headBytes: Math.floor(config.outputBytes / 2),
      tailBytes: Math.ceil(config.outputBytes / 2),
      logBytes: config.logBytes,
      displayBytes: 32 * 1_048_576,
    },
  };
}

async function takeHost(dataDir: string): Promise<{ host: Host; lock: ServerLock }> {
  const runRoot = resolveRunDir(dataDir);
  const serverId = newId('v').slice(2, 14);
  await mkdir(runRoot, { recursive: true, mode: 0o755 });
  const lock = await holdServerLock(runRoot, serverId);
  const runDir = join(runRoot, serverId);
  await mkdir(runDir, { mode: 0o711 });
  await chmod(runDir, 0o711);
  const host: Host = {
    dataDir,
    runDir,
    installationId: installationId(dataDir),
    serverId,
    isServerAlive: (id) => isServerAlive(runRoot, id),
  };
  return { host, lock };
}

/** Clears away what servers of this installation left that no longer live. Called once a server serves, never on the way to a first result. */
async function clearAfterDead(runRoot: string, dataDir: string): Promise<void> {
  const logs = join(dataDir, 'logs');
  for (const dead of await deadServers(runRoot, [logs])) {
    rmSync(join(runRoot, dead), { recursive: true, force: true });
    rmSync(join(logs, dead), { recursive: true, force: true });
    await forgetServer(runRoot, dead);
  }
}

function loadedOnce(host: Host, given: Partial<Record<DriverName, (host: Host) => Promise<Driver>>>) {
  const loaded = new Map<DriverName, Promise<Driver>>();
  const runRoot = join(host.runDir, '..');
  const load = Object.fromEntries(
    DRIVER_NAMES.map((name) => [
      name,
      () => {
        let driver = loaded.get(name);
        if (driver === undefined) {
          driver = (given[name] ?? DRIVERS[name])(host).then((made) => {
            void clearAway(made);
            return made;
          });
          loaded.set(name, driver);
        }
        return driver;
      },
    ]),
  ) as Record<DriverName, () => Promise<Driver>>;
  const clearing: Promise<void>[] = [];

  function clearAway(driver: Driver): void {
    clearing.push(
      (async () => {
        for (const survivor of await driver.survivors()) await survivor.dispose();
        await clearAfterDead(runRoot, host.dataDir);
      })().catch(() => {}),
    );
  }

  return {
    load,
    close: async () => {
      await Promise.all(clearing);
      for (const driver of loaded.values()) await (await driver.catch(() => undefined))?.close();
    },
  };
}
