import type { Config } from '../config/schema.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import { type DriverDeclarations, leastLevel } from '../sandbox/declaration.ts';
import type { DriverName } from '../sandbox/isolation.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import { followedPlaces } from './denied-places.ts';
import type { IsolationChoices } from './isolation-choices.ts';
import { linkedFile } from './linked-files.ts';
import { concernsPolicy, mountPolicy } from './mounts.ts';
import type { Networking } from './networking.ts';
import type { GivenToSession, OpenOptions } from './open-options.ts';
import { createOpenSession, type LivePackages, type LiveSession, requireOpen } from './open-session.ts';
import { createPool } from './pool.ts';
import type { HeldAhead } from './pool-stock.ts';
import { createRemovals } from './removals.ts';
import { keysInHomes } from './secret-homes.ts';
import type { Server } from './server.ts';
import { runFoldersInUse } from './server-lock.ts';
import { reliedPlaces, secretPlaces } from './server-places.ts';

/** The record of a session whose server is gone. */
export interface LeftSession {
  readonly driver: DriverName;
  readonly spec: SandboxSpec;
}

/** The sessions of one Hotcell that are open or opening, and the sandboxes created ahead for more. */
export interface LiveSessions {
  /** Opens a session. Rejects with a HotcellError, without leftovers. */
  open(wanted: OpenOptions, given?: Partial<GivenToSession>): Promise<LiveSession>;
  /**
   * Whether this server may take over a session that another server left: its isolation is strong enough, and this
   * server's policy covers its folders.
   */
  mayTakeOver(left: LeftSession): boolean;
  /** Ends the sandbox of such a session without connecting to it. Rejects if its driver cannot be used now. */
  discard(left: LeftSession): Promise<void>;
  /** The sandboxes made ahead that count as sessions of this owner, because code of the owner is in their images or mounts. */
  heldAhead(owner: string): HeldAhead;
  /** Disposes of those. */
  dropAhead(owner: string): void;
  /** Number of open sessions. */
  count(): number;
  /** Resolves when no sandbox is being created ahead, and none of a closed session is being removed. */
  settled(): Promise<void>;
  /** Aborts openings and closes all sessions. Idempotent. */
  close(): Promise<void>;
}

export interface LiveSessionsParts {
  readonly declared: DriverDeclarations;
  readonly networking: Networking;
  /** Without it, no session may install packages. */
  readonly packages?: LivePackages | undefined;
}

const POOL_MOST_PER_KIND = 4;
const POOL_TOTAL = 32;
const POOL_LEAST_FREE_BYTES = 1_073_741_824;
const POOL_IDLE_MS = 15 * 60_000;
const POOL_CALLERS_IDLE_MS = 60_000;
const MOST_REMOVALS = 8;

export function createLiveSessions(
  config: Config,
  server: Server,
  choose: IsolationChoices,
  { declared, networking, packages }: LiveSessionsParts,
): LiveSessions {
  const { startTimeoutMs } = config;
  const places = { dataDir: server.host.dataDir, runRoot: server.runRoot, logFile: config.logFile };
  const policy = once(() =>
    mountPolicy({
      roots: config.mountRoots,
      denied: [...secretPlaces(places), ...followedPlaces(config.mountDenied)],
      deniedLater: () => keysInHomes(),
      inUse: { secret: () => runFoldersInUse(places), relied: () => reliedPlaces(places) },
      linked: once(linkedFile),
    }),
  );
  // SECURITY: resolved before the first session, whose programs could change where a path leads. A server without roots
  // mounts nothing writable, so its start need not wait.
  if (config.mountRoots.length > 0) policy();
  const pool = createPool(
    {
      perKind: config.poolSize,
      mostPerKind: POOL_MOST_PER_KIND,
      total: POOL_TOTAL,
      leastFreeBytes: POOL_LEAST_FREE_BYTES,
      idleMs: POOL_IDLE_MS,
      callersIdleMs: POOL_CALLERS_IDLE_MS,
      serversImage: config.image,
    },
    startTimeoutMs,
  );
  const sessions = new Set<LiveSession>();
  const builders = new Set<LiveSession>();
  const removals = createRemovals(MOST_REMOVALS);
  const openings = new Set<Promise<LiveSession>>();
  /** Sessions of callers that are being opened. */
  let awaited = 0;
  const stop = new AbortController();
  let closing: Promise<void> | undefined;
  const openSession = createOpenSession({
    ...{ config, server, choose, declared, networking, packages, policy, pool, removals },
    stop: stop.signal,
    onClosed: (session) => {
      sessions.delete(session);
      builders.delete(session);
    },
  });

  return {
    open: async (wanted, given = {}) => {
      requireOpen(stop.signal);
      const isBuilder = given.isBuilder === true;
      if (sessions.size + awaited >= config.maxSessions && given.persistence?.resume === undefined && !isBuilder) {
        throw new HotcellError('too_many_sessions', `${config.maxSessions} sessions are open, which is the limit`, {
          remedy: 'Close one, or raise maxSessions.',
        });
      }
      const opening = openSession(wanted, given).catch((error: unknown) => {
        requireOpen(stop.signal); // if Hotcell was closed meanwhile, report that instead of its consequences
        throw error;
      });
      openings.add(opening);
      if (!isBuilder) awaited += 1;
      try {
        const session = await opening;
        (isBuilder ? builders : sessions).add(session);
        return session;
      } finally {
        openings.delete(opening);
        if (!isBuilder) awaited -= 1;
      }
    },
    mayTakeOver: ({ driver, spec }) =>
      // Without waiting for a probe: the driver's minimum level counts.
      leastLevel(declared[driver]) >= leastLevel(declared[config.minIsolation]) &&
      concernsPolicy(spec.mounts, policy()),
    discard: async ({ driver, spec }) => {
      const chosen = await choose(driver);
      await chosen.driver.discard?.(spec);
    },
    heldAhead: pool.heldFor,
    dropAhead: (owner) => {
      const isHeld = pool.heldFor(owner).sandboxes > 0;
      const gone = pool.drop(owner);
      if (isHeld) removals.track(owner, gone);
    },
    count: () => sessions.size,
    settled: async () => {
      await pool.settled();
      await removals.settled();
    },
    close: () => {
      closing ??= (async () => {
        stop.abort();
        await Promise.allSettled(openings);
        // A session that fails to close must not stop the others.
        const endings = await Promise.allSettled([...sessions, ...builders].map((session) => session.close()));
        await pool.close();
        await removals.settled();
        for (const one of endings) if (one.status === 'rejected') throw one.reason;
      })();
      return closing;
    },
  };
}

function once<T>(find: () => T): () => T {
  let found: { readonly value: T } | undefined;
  return () => {
    found ??= { value: find() };
    return found.value;
  };
}
