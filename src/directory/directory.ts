import type { Config } from '../config/schema.ts';
import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { ExecutionPolicy } from '../execution/execution.ts';
import type { SessionCore } from '../execution/session-core.ts';
import type { Clock } from '../lib/clock.ts';
import { unlessWithdrawn } from '../lib/unless-withdrawn.ts';
import type { Host } from '../sandbox/host.ts';
import { whyDue } from '../sessions/lifetime.ts';
import type { LiveSessions } from '../sessions/live-sessions.ts';
import type { PersistentRecord, PersistentRecords } from '../sessions/persistent-records.ts';
import type { Feed } from '../telemetry/feed.ts';
import type { Logger } from '../telemetry/logger.ts';
import { type CensusCount, censusOf } from './census.ts';
import { createClosings } from './closings.ts';
import { createExecutionQuota } from './execution-quota.ts';
import { createKeptTotal } from './kept-total.ts';
import { type DirectorySession, type ManagedSession, manageSession } from './managed-session.ts';
import { missingSession } from './missing-session.ts';
import type { CheckedRequest, OpenRequest } from './open-request.ts';
import { createOpenings, type Entry, type Openings } from './openings.ts';
import type { Owner } from './owner.ts';
import { createPersistence } from './persistence.ts';
import { createReaper } from './reaper.ts';
import { createRoster } from './roster.ts';
import { createSessionEvents } from './session-events.ts';
import { shuttingDownError } from './shutting-down.ts';

export type { ManagedCommand, ManagedExecution } from './managed-execution.ts';
export type { ManagedSession } from './managed-session.ts';
export type { OpenRequest } from './open-request.ts';
export type { Owner, OwnerQuotas } from './owner.ts';

/**
 * All sessions of one server: whose they are, how many there may be, and when they end. Called by the surfaces, MCP and HTTP. What it refuses, it has put
 * down in the audit log and the metrics.
 */
export interface SessionDirectory {
  /** Rejects with a HotcellError, with nothing left. */
  open(owner: Owner, request: OpenRequest, options?: CallOptions): Promise<ManagedSession>;
  /**
   * The owner's session of that id or name; without one, the owner's default session, opened on first use. Another owner's is `session_not_found`,
   * like one that never was; one that was closed is `session_closed`, with the reason.
   */
  use(owner: Owner, id: string | undefined, options?: CallOptions): Promise<ManagedSession>;
  /** SECURITY: none for an anonymous owner, who is several people: the id of a session is all that proves whose it is. */
  list(owner: Owner): readonly ManagedSession[];
  /** Brings the owner's sessions back that outlived another server, for who wants to see all. The other calls do so by themselves. */
  recall(owner: Owner): Promise<void>;
  /** The owner's open session of that id or name, if there is one. Opens nothing. */
  known(owner: Owner, id: string): ManagedSession | undefined;
  /** The owner's open session in which that execution runs or ran, if it is still remembered. */
  withExecution(owner: Owner, executionId: string): ManagedSession | undefined;
  /** Resolves when nothing of it is left. One that is closed already is fine. */
  close(owner: Owner, id: string, options?: CallOptions): Promise<void>;
  /** The same for all of the owner's, those being opened included. What could not be closed is no reason to stop. */
  closeAll(owner: Owner): Promise<void>;
  /** The session of that unique id, of any owner. SECURITY: for callers with a proof of their own, such as a signed link; never for an id from a client alone. */
  find(uniqueId: string): ManagedSession | undefined;
  /** Counts by state and driver, for metrics. */
  census(): readonly CensusCount[];
  /** Refuses new work, ends what runs, closes everything. Safe to repeat. */
  shutdown(): Promise<void>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** The tool or route, for the audit log. */
  readonly via?: string;
  /** What the surface itself refuses, in words of its own arguments: comes first, and is put down like any refusal. */
  readonly check?: () => void;
}

export interface DirectoryOptions {
  /** Opens sessions of the library. */
  readonly live: Pick<LiveSessions, 'open' | 'mayTakeOver'>;
  /** Asked for when the first session is opened: reading all languages takes longer than the rest of a start. */
  readonly policy: () => ExecutionPolicy;
  readonly host: Pick<Host, 'serverId' | 'isServerAlive'>;
  readonly records: PersistentRecords;
  readonly standardImage: () => string;
  readonly config: Config;
  readonly clock: Clock;
  readonly feed: Pick<Feed, 'emit'>;
  readonly logger: Pick<Logger, 'error'>;
}

/** The name of the session that is meant where none is named. */
const DEFAULT_SESSION = 'default';

export function createDirectory(options: DirectoryOptions): SessionDirectory {
  const { live, policy, host, records, standardImage, config, clock, feed, logger } = options;
  const roster = createRoster<Entry>();
  const executions = createExecutionQuota(config.maxExecutions);
  const keptTotal = createKeptTotal({ bytes: config.keptTotalBytes, logBytes: config.keptTotalLogBytes });
  const events = createSessionEvents(feed);
  const persistence = createPersistence({
    records,
    mayTakeOver: live.mayTakeOver,
    host,
    roster,
    clock,
    openings: () => openings,
  });
  const closings = createClosings({ roster, persistence, events });
  const openings: Openings = createOpenings({
    config,
    roster,
    standardImage,
    openSession: (entry, request, record) => {
      const { owner, uniqueId, activity, stop } = entry;
      return live.open(
        { ...request, owner: owner.id, signal: stop.signal },
        {
          uniqueId,
          slots: executions.slotsOf(owner),
          beginUse: activity.beginUse,
          placeToStart: (signal) => openings.place(owner, signal),
          persistence: persistence.planOf(entry, request, record),
        },
      );
    },
    onUsed: persistence.used,
    onFailed: persistence.failed,
    onOpened: (entry, request, core, record) => {
      const session = manage(entry, request, core, record);
      reaper.watch(session.lifetime());
      events.opened(entry, request, core, clock.now() - entry.askedAt);
      return session;
    },
    clock,
  });
  const ownedBy = (owner: Owner) => living().flatMap(({ session }) => (session?.owner === owner.id ? [session] : []));
  const living = () => roster.all().filter((entry) => entry.session !== undefined && entry.closing === undefined);
  const reaper = createReaper(clock, () => living().map(({ session }) => session!.lifetime()), closeDue);
  let shuttingDown: Promise<void> | undefined;

  function closeDue(now: number): void {
    for (const entry of living()) {
      const why = whyDue(entry.session!.lifetime(), now);
      if (why === undefined) continue;
      closings.close(entry, why).catch((error: unknown) => {
        logger.error('a session could not be closed', { session: entry.uniqueId, why: toHotcellError(error).code });
      });
    }
  }

  function manage(
    entry: Entry,
    { idleMs, maxAgeMs }: CheckedRequest,
    core: SessionCore,
    record: PersistentRecord | undefined,
  ): DirectorySession {
    const { id, name, owner, activity } = entry;
    return manageSession(core, {
      ...{ id, name, owner, activity, idleMs, maxAgeMs, config, clock, feed },
      openedAt: record?.openedAt ?? (entry.isPersistent ? entry.askedAt : clock.now()),
      policy: policy(),
      keptShare: keptTotal.of(owner.id),
      admit: (held) => executions.admit(owner, held),
      close: () => closings.close(entry, 'asked'),
    });
  }

  async function useSession(
    owner: Owner,
    id: string | undefined,
    { signal, ...call }: CallOptions,
  ): Promise<DirectorySession> {
    requireRunning();
    const hasDefault = owner.isAnonymous !== true;
    if (id === undefined && !hasDefault) return openings.begin(owner, {}, { signal, ...call }).opened;
    const handle = id ?? DEFAULT_SESSION;
    await recallFor(owner, handle);
    const known = roster.find(owner.id, handle);
    if (known === undefined && !(handle === DEFAULT_SESSION && hasDefault)) {
      throw missingSession(handle, roster.epitaph(owner.id, handle));
    }
    // Others may wait for the same opening: it does not end with one caller's signal.
    const { opened } = known ?? openings.begin(owner, { name: DEFAULT_SESSION }, call);
    const session = await unlessWithdrawn(opened, signal, withdrawal);
    session.touch();
    return session;
  }

  /** One that is not here may have outlived another server. It is looked up afterwards: others may have begun to open it meanwhile. */
  async function recallFor(owner: Owner, handle: string): Promise<void> {
    if (roster.find(owner.id, handle) !== undefined) return;
    await persistence.recall(owner, { again: true });
    requireRunning();
  }

  function requireRunning(): void {
    if (shuttingDown !== undefined) throw shuttingDownError();
  }

  /** Emits an event where `work` is refused. */
  async function noted<T>(
    owner: Owner,
    id: string | undefined,
    { via, check }: CallOptions,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      check?.();
      return await work();
    } catch (thrown) {
      const error = toHotcellError(thrown);
      events.refused(owner, error, { via, id });
      throw error;
    }
  }

  return {
    open: (owner, request, options = {}) =>
      noted(owner, request.id, options, async () => {
        requireRunning();
        await persistence.recall(owner);
        requireRunning();
        return openings.begin(owner, request, options).opened;
      }),
    use: (owner, id, options = {}) => noted(owner, id, options, () => useSession(owner, id, options)),
    recall: async (owner) => {
      await persistence.recall(owner, { again: true });
      await Promise.allSettled(roster.of(owner.id).map(({ isPersistent, opened }) => isPersistent && opened));
    },
    list: (owner) => (owner.isAnonymous === true ? [] : ownedBy(owner)),
    known: (owner, id) => roster.find(owner.id, id)?.session,
    withExecution: (owner, executionId) =>
      ownedBy(owner).find((session) => session.execution(executionId) !== undefined),
    close: (owner, id, options = {}) =>
      noted(owner, id, options, async () => {
        await recallFor(owner, id);
        const entry = roster.find(owner.id, id);
        if (entry !== undefined) return closings.close(entry, 'asked');
        if (roster.epitaph(owner.id, id) === undefined) throw missingSession(id, undefined);
      }),
    closeAll: async (owner) => {
      await Promise.allSettled(roster.of(owner.id).map((entry) => closings.close(entry, 'asked')));
    },
    find: (uniqueId) => living().find((entry) => entry.uniqueId === uniqueId)?.session,
    census: () => censusOf(roster.all()),
    shutdown: () => {
      shuttingDown ??= (async () => {
        reaper.stop();
        await Promise.allSettled(
          roster.all().map((entry) => closings.close(entry, entry.isPersistent ? 'left' : 'shutdown')),
        );
      })();
      return shuttingDown;
    },
  };
}

function withdrawal(): HotcellError {
  return new HotcellError('cancelled', 'the call was cancelled');
}
