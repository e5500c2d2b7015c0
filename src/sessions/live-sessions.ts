import type { BoundSession, Broker } from '../broker/broker.ts';
import { parseOptions } from '../config/parse-options.ts';
import { type Config, configSchema } from '../config/schema.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import { createSessionCore, type SessionCore, type SessionCoreOptions } from '../execution/session-core.ts';
import type { LiveSandbox } from '../guest/live-sandbox.ts';
import { either } from '../lib/abort.ts';
import { type DriverDeclarations, leastLevel } from '../sandbox/declaration.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { DriverName, IsolationRequest } from '../sandbox/isolation.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import { followedPlaces } from './denied-places.ts';
import { type HeldMounts, holdKnownMounts, holdMounts, NO_MOUNTS } from './held-mounts.ts';
import type { IsolationChoices } from './isolation-choices.ts';
import { linkedFile } from './linked-files.ts';
import { concernsPolicy, mountPolicy } from './mounts.ts';
import type { PersistencePlan } from './persistence-plan.ts';
import { createPool, type PoolPermits } from './pool.ts';
import type { HeldAhead } from './pool-stock.ts';
import { createRemovals } from './removals.ts';
import { type NeededTrait, requireTraits } from './require-traits.ts';
import { keysInHomes } from './secret-homes.ts';
import type { Server } from './server.ts';
import { runFoldersInUse } from './server-lock.ts';
import { reliedPlaces, secretPlaces } from './server-places.ts';
import { createSessionSandboxes, type SessionSandboxes } from './session-sandboxes.ts';
import { type SandboxWishes, specFor } from './spec-for.ts';

const isolationOption = configSchema.pick({ isolation: true });

export interface OpenOptions extends SandboxWishes {
  readonly isolation?: IsolationRequest;
  readonly signal?: AbortSignal;
}

/** Session options that a server sets, and a user of the library does not. */
export interface GivenToSession extends Pick<SessionCoreOptions, 'slots' | 'beginUse'> {
  readonly uniqueId: string;
  /**
   * Waits for a place among the sandboxes that the server starts at once, before a lost sandbox is replaced or another
   * is made ahead; the returned function releases it.
   */
  readonly placeToStart: (signal: AbortSignal) => Promise<() => void>;
  /** Whether the owner's quotas have room for one more sandbox that is made ahead with the owner's image or mounts. */
  readonly mayHoldAhead: PoolPermits['mayHold'];
  /** The plan for a session that outlives the server. */
  readonly persistence: PersistencePlan | undefined;
  /** Called when a call from the session's sandbox has ended. */
  readonly onCall: BoundSession['onCall'];
}

/** The record of a session whose server is gone. */
export interface LeftSession {
  readonly driver: DriverName;
  readonly spec: SandboxSpec;
}

/** The sessions of one Hotcell that are open or opening, and the sandboxes created ahead for more. */
export interface LiveSessions {
  /** Opens a session. Rejects with a HotcellError, without leftovers. */
  open(wanted: OpenOptions, given?: Partial<GivenToSession>): Promise<SessionCore>;
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

interface FirstOptions {
  readonly sandboxes: SessionSandboxes;
  readonly held: HeldMounts;
  readonly permits: PoolPermits;
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
  { declared, broker }: { declared: DriverDeclarations; broker: Broker | undefined },
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
  // mounts nothing, so its start need not wait.
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
  const sessions = new Set<SessionCore>();
  const removals = createRemovals(MOST_REMOVALS);
  const openings = new Set<Promise<SessionCore>>();
  const stop = new AbortController();
  let closing: Promise<void> | undefined;

  async function openSession(wanted: OpenOptions, given: Partial<GivenToSession>): Promise<SessionCore> {
    const held = await mountsOf(wanted, given);
    let opened: (() => void) | undefined;
    try {
      const spec = specOf(wanted, given, held);
      opened = await removals.room(spec.owner, wanted.signal);
      return await openWith(held, spec, wanted, given);
    } catch (error) {
      await held.release();
      throw error;
    } finally {
      opened?.();
    }
  }

  async function openWith(
    held: HeldMounts,
    spec: SandboxSpec,
    wanted: OpenOptions,
    given: Partial<GivenToSession>,
  ): Promise<SessionCore> {
    const { persistence, slots, beginUse, placeToStart, mayHoldAhead, onCall } = given;
    const { signal } = wanted;
    const permits: PoolPermits = { place: placeToStart, mayHold: mayHoldAhead, signal: either(stop.signal, signal) };
    const sandboxes = createSessionSandboxes({ spec, held, persistence, startTimeoutMs, stop: stop.signal, signal });
    let tried: LiveSandbox | undefined;
    const attempt = async (driver: Driver) => {
      tried = await sandboxes.first(driver);
    };
    const { isolation } = parseOptions(isolationOption, { isolation: wanted.isolation ?? config.isolation });
    const { driver, passedOver } = await choose(isolation, {
      attempt: isPlain(spec) ? attempt : undefined,
    });
    if (closing !== undefined) await tried?.dispose();
    requireOpen();
    requireTraits(neededBy(wanted, spec), { driver, passedOver }, declared);
    if (tried !== undefined) pool.expect(driver, spec, permits);
    const removesBehind = mayRemoveBehind(driver, spec);
    const bound = (live: LiveSandbox): LiveSandbox => {
      broker?.bind(live, { owner: spec.owner, session: spec.id, onCall });
      return live;
    };
    const session: SessionCore = createSessionCore({
      uniqueId: spec.id,
      spec,
      passedOver,
      logFolder: server.logFolder(spec.id),
      first: bound(tried ?? (await firstOf(driver, spec, { sandboxes, held, permits }))),
      reopen: async (closing) => {
        const release = await placeToStart?.(closing);
        return bound(await sandboxes.next(driver).finally(release));
      },
      onClosed: (gone) => {
        sessions.delete(session);
        if (removesBehind) removals.track(spec.owner, gone);
      },
      onEnded: () => held.release({ mayBeHandedOn: driver.traits.passesDescriptors }),
      removesBehind,
      slots,
      beginUse,
    });
    sessions.add(session);
    return session;
  }

  /** A sandbox from the pool, else a new one. */
  async function firstOf(
    driver: Driver,
    spec: SandboxSpec,
    { sandboxes, held, permits }: FirstOptions,
  ): Promise<LiveSandbox> {
    if (spec.persistent !== undefined) return sandboxes.first(driver);
    await held.requireSame();
    return (await pool.claim(driver, spec, permits)) ?? sandboxes.first(driver);
  }

  async function mountsOf(wanted: OpenOptions, { persistence }: Partial<GivenToSession>): Promise<HeldMounts> {
    const resumed = persistence?.resume;
    if (resumed !== undefined) return holdKnownMounts(resumed, policy(), server.mounts);
    const { mounts = [], owner } = wanted;
    return mounts.length === 0 ? NO_MOUNTS : holdMounts({ mounts, owner }, policy(), server.mounts);
  }

  function specOf(
    wanted: OpenOptions,
    { uniqueId, persistence }: Partial<GivenToSession>,
    { mounts }: HeldMounts,
  ): SandboxSpec {
    return {
      ...(persistence?.resume?.spec ?? specFor(config, wanted, mounts)),
      ...(uniqueId === undefined ? {} : { id: uniqueId }),
      ...(persistence === undefined ? {} : { persistent: persistence.alone }),
    };
  }

  function requireOpen(): void {
    if (closing !== undefined) throw new HotcellError('session_closed', 'this Hotcell is closed');
  }

  return {
    open: async (wanted, given = {}) => {
      requireOpen();
      if (sessions.size + openings.size >= config.maxSessions && given.persistence?.resume === undefined) {
        throw new HotcellError('too_many_sessions', `${config.maxSessions} sessions are open, which is the limit`, {
          remedy: 'Close one, or raise maxSessions.',
        });
      }
      const opening = openSession(wanted, given).catch((error: unknown) => {
        requireOpen(); // if Hotcell was closed meanwhile, report that instead of its consequences
        throw error;
      });
      openings.add(opening);
      return opening.finally(() => openings.delete(opening));
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
        const endings = await Promise.allSettled([...sessions].map((session) => session.close()));
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

/** Whether the request is plain, so that a failure to create its sandbox is not the request's fault. */
function isPlain({ image, mounts, persistent }: SandboxSpec): boolean {
  return image === undefined && mounts.length === 0 && persistent === undefined;
}

/**
 * Whether `close` need not wait for the removal of the sandbox. With mounts, its programs could still write there, and
 * a persistent session must not be forgotten before its sandbox is gone. A sandbox that shares a zygote is removed
 * within milliseconds.
 */
function mayRemoveBehind({ traits }: Driver, { mounts, persistent }: SandboxSpec): boolean {
  return mounts.length === 0 && persistent === undefined && !traits.sharesWithinOwner;
}

/**
 * The traits that a request needs. The server's default image applies only to drivers with images, so it needs no
 * trait.
 */
function neededBy({ image }: OpenOptions, { mounts, persistent }: SandboxSpec): NeededTrait[] {
  return [
    ...(persistent === undefined ? [] : (['persistence'] as const)),
    ...(image === undefined ? [] : (['images'] as const)),
    ...(mounts.length === 0 ? [] : (['mounts'] as const)),
  ];
}
