import type { Config } from '../config/schema.ts';
import { toHotcellError } from '../errors/hotcell-error.ts';
import type { ExecutionPolicy } from '../execution/execution.ts';
import type { Clock } from '../lib/clock.ts';
import type { Host } from '../sandbox/host.ts';
import type { SessionPackages } from '../sessions/installation.ts';
import { whyDue } from '../sessions/lifetime.ts';
import type { LiveSessions } from '../sessions/live-sessions.ts';
import type { LiveSession } from '../sessions/open-session.ts';
import type { PersistentRecord, PersistentRecords } from '../sessions/persistent-records.ts';
import type { Feed } from '../telemetry/feed.ts';
import type { Logger } from '../telemetry/logger.ts';
import { censusOf } from './census.ts';
import { createClosings } from './closings.ts';
import { createExecutionQuota } from './execution-quota.ts';
import { createKeptTotal } from './kept-total.ts';
import { createLeftSessions } from './left-sessions.ts';
import { packagesInstalled } from './managed-packages.ts';
import { type DirectorySession, manageSession } from './managed-session.ts';
import { emitNetwork } from './network-events.ts';
import type { CheckedRequest } from './open-request.ts';
import { createOpenings, type Entry, type Openings } from './openings.ts';
import type { Owner } from './owner.ts';
import { createPersistence } from './persistence.ts';
import { createReaper } from './reaper.ts';
import { createRoster } from './roster.ts';
import type { CallOptions, SessionDirectory } from './session-directory.ts';
import { createSessionEvents } from './session-events.ts';
import { factsOf } from './session-facts.ts';
import { createSessionLookup } from './session-lookup.ts';
import { shuttingDownError } from './shutting-down.ts';

export type { ManagedCommand, ManagedExecution } from './managed-execution.ts';
export type { ManagedSession } from './managed-session.ts';
export type { OpenRequest } from './open-request.ts';
export type { Owner, OwnerQuotas } from './owner.ts';
export type { CallOptions, SessionDirectory } from './session-directory.ts';

export interface DirectoryOptions {
  /** Opens sessions of the library. */
  readonly live: Pick<LiveSessions, 'open' | 'mayTakeOver' | 'discard' | 'heldAhead' | 'dropAhead'>;
  /** The policy is read when the first session opens: reading all languages takes longer than the rest of a start. */
  readonly policy: () => ExecutionPolicy;
  readonly host: Pick<Host, 'serverId' | 'isServerAlive'>;
  readonly records: PersistentRecords;
  readonly standardImage: () => string;
  /** The packages of a session. */
  readonly packages: (core: LiveSession) => SessionPackages;
  readonly config: Config;
  readonly clock: Clock;
  readonly feed: Pick<Feed, 'emit'>;
  readonly logger: Pick<Logger, 'error'>;
}

export function createDirectory(options: DirectoryOptions): SessionDirectory {
  const { live, policy, host, records, standardImage, config, clock, feed, logger } = options;
  const roster = createRoster<Entry>();
  const executions = createExecutionQuota(config.maxExecutions);
  const keptTotal = createKeptTotal({ bytes: config.keptTotalBytes, logBytes: config.keptTotalLogBytes });
  const events = createSessionEvents(feed);
  const left = createLeftSessions({ records, live, host, roster, clock });
  const persistence = createPersistence({
    records,
    left,
    mayTakeOver: live.mayTakeOver,
    host,
    roster,
    openings: () => openings,
  });
  const closings = createClosings({ roster, live, persistence, events });
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
          mayHoldAhead: (held, memoryBytes) => openings.mayHoldAhead(owner, held, memoryBytes),
          persistence: persistence.planOf(entry, request, record),
          networkCeiling: owner.network,
          networkGranted: request.networkGranted,
          allowedServices: owner.services,
          mayInstall: owner.mayInstall,
          onInstalled: (core, done) => feed.emit(packagesInstalled({ ...factsOf(core, owner), via: 'program' }, done)),
          onUnreadable: (service, why) => logger.error('a secret cannot be read', { service, why }),
          onNetwork: emitNetwork(feed, { owner: owner.id, session: uniqueId }),
          onCall: ({ execution, ...call }) => {
            const whose = { owner: owner.id, session: uniqueId, ...(execution === null ? {} : { execution }) };
            feed.emit({ ...call, ...whose, event: 'call-ended' });
          },
        },
      );
    },
    ahead: live,
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
  left.watch();
  let shuttingDown: Promise<void> | undefined;
  const lookup = createSessionLookup({ roster, openings, persistence, requireRunning });

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
    core: LiveSession,
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
      packages: options.packages(core),
    });
  }

  function requireRunning(): void {
    if (shuttingDown !== undefined) throw shuttingDownError();
  }

  /** Emits an event if `work` is refused. */
  async function reportRefusals<T>(
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
      reportRefusals(owner, request.id, options, async () => {
        requireRunning();
        await persistence.recall(owner);
        requireRunning();
        return openings.begin(owner, request, options).opened;
      }),
    use: (owner, id, options = {}) => reportRefusals(owner, id, options, () => lookup.use(owner, id, options)),
    recall: async (owner) => {
      await persistence.recall(owner, { again: true });
      await Promise.allSettled(roster.of(owner.id).map(({ isPersistent, opened }) => isPersistent && opened));
    },
    list: (owner) => (owner.isAnonymous === true ? [] : ownedBy(owner)),
    known: (owner, id) => roster.find(owner.id, id)?.session,
    withExecution: (owner, executionId) =>
      ownedBy(owner).find((session) => session.execution(executionId) !== undefined),
    close: (owner, id, options = {}) =>
      reportRefusals(owner, id, options, async () => {
        const entry = await lookup.find(owner, id);
        if (entry !== undefined) await closings.close(entry, 'asked');
      }),
    closeAll: async (owner) => {
      live.dropAhead(owner.id);
      await Promise.allSettled(roster.of(owner.id).map((entry) => closings.close(entry, 'asked')));
    },
    endLeft: left.end,
    find: (uniqueId) => living().find((entry) => entry.uniqueId === uniqueId)?.session,
    census: () => censusOf(roster.all()),
    shutdown: () => {
      shuttingDown ??= (async () => {
        reaper.stop();
        left.stop();
        await Promise.allSettled(
          roster.all().map((entry) => closings.close(entry, entry.isPersistent ? 'left' : 'shutdown')),
        );
      })();
      return shuttingDown;
    },
  };
}
