import type { Config } from '../config/schema.ts';
import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { Clock } from '../lib/clock.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import { newId } from '../lib/ids.ts';
import type { AuditSink } from '../telemetry/audit.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import {
  type ManagedSession,
  manageSession,
  type OpenedSession,
  type OwnedSession,
  shortIsolation,
} from './managed-session.ts';
import { type CheckedRequest, checkRequest, type OpenRequest } from './open-request.ts';
import type { Owner } from './owner.ts';
import { admit, displaced, type Holding } from './quota.ts';
import { createReaper, whyDue } from './reaper.ts';
import { createRoster } from './roster.ts';
import type { Slots } from './session.ts';
import { type SessionState, transition } from './state.ts';

export type { ManagedExecution, RunOptions } from './managed-execution.ts';
export type { ManagedSession } from './managed-session.ts';
export type { OpenRequest } from './open-request.ts';
export type { Owner, OwnerQuotas } from './owner.ts';

/** All sessions of one server: whose they are, how many there may be, and when they end. Called by the surfaces, MCP and HTTP. */
export interface SessionDirectory {
  open(owner: Owner, request: OpenRequest, options?: CallOptions): Promise<ManagedSession>;
  /**
   * The owner's session of that id or name; without one, the owner's default session, opened on first use. Another owner's is `session_not_found`,
   * like one that never was; one that was closed is `session_closed`, with the reason.
   */
  use(owner: Owner, id: string | undefined, options?: CallOptions): Promise<ManagedSession>;
  list(owner: Owner): readonly ManagedSession[];
  /** Resolves when nothing of it is left. One that is closed already is fine. */
  close(owner: Owner, id: string): Promise<void>;
  /** By `session.id`, whoever owns it. SECURITY: for callers that hold a proof of their own, such as a signed link; never for an id from a client alone. */
  find(uniqueId: string): ManagedSession | undefined;
  /** Counts by state and driver, for metrics. */
  census(): readonly { state: SessionState; driver: string; count: number }[];
  /** Refuses new work, ends what runs, closes everything. Safe to repeat. */
  shutdown(): Promise<void>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** The tool or route, for the audit log. */
  readonly via?: string;
}

/** What the directory asks of the library: a session with this id, whose executions take a place among those of the server. */
export type OpenSession = (
  request: CheckedRequest & { id: string; owner: string; slots: Slots; signal: AbortSignal },
) => Promise<OpenedSession>;

export interface DirectoryOptions {
  readonly openSession: OpenSession;
  readonly config: Config;
  readonly clock: Clock;
  readonly audit: AuditSink;
  readonly metrics: Metrics;
}

/** The name of the session that is meant where none is named. */
export const DEFAULT_SESSION = 'default';

interface Entry {
  readonly id: string;
  readonly name: string | undefined;
  readonly owner: Owner;
  /** Unique in the server. */
  readonly uniqueId: string;
  readonly driver: string;
  readonly stop: AbortController;
  opening: 'waiting' | 'starting' | 'done';
  state: SessionState;
  session?: OwnedSession;
  opened: Promise<OwnedSession>;
  closing?: Promise<void>;
}

export function createDirectory({ openSession, config, clock, audit, metrics }: DirectoryOptions): SessionDirectory {
  const roster = createRoster<Entry>();
  const byUniqueId = new Map<string, Entry>();
  const openings = createFairQueue(config.maxOpenings);
  const executions = createFairQueue(config.maxExecutions);
  const pending = new Map<string, number>();
  let shuttingDown: Promise<void> | undefined;

  const living = () => roster.all().filter((entry) => entry.session !== undefined && entry.closing === undefined);
  const reaper = createReaper(
    clock,
    () => living().map(({ session }) => session!.lifetime),
    (now) => {
      for (const entry of living()) {
        const why = whyDue(entry.session!.lifetime, now);
        if (why !== undefined) closeEntry(entry, why).catch(() => {});
      }
    },
  );

  function enter(owner: Owner, request: OpenRequest, { signal, via }: CallOptions): Entry {
    requireRunning();
    const checked = checkRequest(request, config);
    makeRoom(owner);
    const uniqueId = newId('s');
    const entry: Entry = {
      id: checked.id ?? uniqueId,
      name: checked.name,
      owner,
      uniqueId,
      driver: checked.isolation ?? config.isolation,
      stop: new AbortController(),
      opening: 'waiting',
      state: 'opening',
      opened: undefined as never,
    };
    roster.add(entry);
    byUniqueId.set(uniqueId, entry);
    entry.opened = start(entry, checked, signal, via);
    entry.opened.catch(() => {});
    return entry;
  }

  /** Throws where there is none. */
  function makeRoom(owner: Owner): void {
    const admission = admit({ id: owner.id, quota: owner.quotas.sessions }, holdings(), config.maxSessions);
    if (admission.kind === 'refused') throw admission.error;
    if (admission.kind === 'admitted') return;
    const last = roster.of(admission.owner).findLast(({ opening }) => opening === 'waiting');
    if (last === undefined) return;
    last.stop.abort(displaced());
    leave(last, 'was displaced before it was opened');
  }

  function holdings(): Map<string, Holding> {
    const found = new Map<string, Holding>();
    for (const { owner, opening } of roster.all()) {
      const { sessions, waiting } = found.get(owner.id) ?? { sessions: 0, waiting: 0 };
      found.set(owner.id, { sessions: sessions + 1, waiting: waiting + (opening === 'waiting' ? 1 : 0) });
    }
    return found;
  }

  async function start(
    entry: Entry,
    request: CheckedRequest,
    signal?: AbortSignal,
    via?: string,
  ): Promise<OwnedSession> {
    const { owner, stop } = entry;
    const askedAt = clock.now();
    const withdraw = () => stop.abort(new HotcellError('cancelled', 'the opening was withdrawn'));
    signal?.addEventListener('abort', withdraw, { once: true });
    if (signal?.aborted === true) withdraw();
    try {
      const release = await openings.take(owner.id, { signal: stop.signal });
      entry.opening = 'starting';
      const opened = await openSession({
        ...request,
        id: entry.uniqueId,
        owner: owner.id,
        slots: slotsOf(owner),
        signal: stop.signal,
      }).finally(release);
      if (stop.signal.aborted) {
        await opened.session.close();
        stop.signal.throwIfAborted();
      }
      const session = manage(entry, request, opened);
      entry.session = session;
      entry.state = transition(entry.state, 'opened') ?? entry.state;
      reaper.watch(session.lifetime);
      metrics.opened(session.driver, (clock.now() - askedAt) / 1000);
      audit.record({
        event: 'session-opened',
        owner: owner.id,
        session: entry.id,
        ...(via === undefined ? {} : { via }),
        isolation: shortIsolation(opened.session),
        policy: { ...policyOf(opened), idleMs: request.idleMs, maxAgeMs: request.maxAgeMs },
        durationMs: Math.round(clock.now() - askedAt),
      });
      return session;
    } catch (thrown) {
      leave(entry, 'could not be opened');
      throw stop.signal.aborted && stop.signal.reason instanceof HotcellError ? stop.signal.reason : thrown;
    } finally {
      entry.opening = 'done';
      signal?.removeEventListener('abort', withdraw);
    }
  }

  function manage(entry: Entry, request: CheckedRequest, opened: OpenedSession): OwnedSession {
    return manageSession({
      opened,
      id: entry.id,
      name: entry.name,
      owner: entry.owner,
      idleMs: request.idleMs,
      maxAgeMs: request.maxAgeMs,
      kept: { count: config.keptExecutions, bytes: config.keptExecutionBytes, logBytes: config.keptLogBytes },
      clock,
      audit,
      metrics,
      admit: () => admitExecution(entry.owner),
      close: () => closeEntry(entry, 'asked'),
    });
  }

  function slotsOf(owner: Owner): Slots {
    return {
      tryTake: () => executions.tryTake(owner.id),
      take: (signal) => executions.take(owner.id, { signal }),
    };
  }

  function admitExecution({ id, quotas }: Owner): () => void {
    const count = pending.get(id) ?? 0;
    if (count >= quotas.executions) {
      throw new HotcellError('too_many_executions', `${count} of your executions run or wait, which is your limit`, {
        remedy: 'Wait for one of them, or cancel it.',
      });
    }
    pending.set(id, count + 1);
    return () => {
      const left = (pending.get(id) ?? 1) - 1;
      if (left === 0) pending.delete(id);
      else pending.set(id, left);
    };
  }

  function leave(entry: Entry, epitaph: string): void {
    if (entry.session !== undefined) roster.bury(entry, epitaph);
    roster.remove(entry);
    byUniqueId.delete(entry.uniqueId);
    entry.state = 'closed';
  }

  function closeEntry(entry: Entry, why: ClosingReason): Promise<void> {
    entry.closing ??= (async () => {
      const session = await ending(entry);
      if (session === undefined) return;
      session.retire();
      // It cannot be called by its id any more, but counts until nothing of it is left.
      roster.bury(entry, EPITAPHS[why]);
      try {
        if (why === 'age') await session.expire();
        await session.dispose();
      } finally {
        leave(entry, EPITAPHS[why]);
        metrics.closed(session.driver, why);
        audit.record({ event: 'session-closed', owner: entry.owner.id, session: entry.id, outcome: why });
      }
    })();
    return entry.closing;
  }

  /** The session that is to be closed; one that is still being opened is withdrawn. */
  async function ending(entry: Entry): Promise<OwnedSession | undefined> {
    if (entry.session !== undefined) return entry.session;
    entry.stop.abort(
      new HotcellError('session_closed', `the session ${entry.id} was closed while it was being opened`),
    );
    return entry.opened.catch(() => undefined);
  }

  function requireRunning(): void {
    if (shuttingDown === undefined) return;
    throw new HotcellError('shutting_down', 'the server is shutting down', { remedy: 'Try again when it is back.' });
  }

  function missing(owner: Owner, id: string): HotcellError {
    const epitaph = roster.epitaph(owner.id, id);
    if (epitaph === undefined) {
      return new HotcellError('session_not_found', `you have no session ${id}`, {
        remedy: 'Open one, or list your sessions.',
      });
    }
    return new HotcellError('session_closed', `the session ${id} ${epitaph}`, { remedy: 'Open a new one.' });
  }

  /** Counts and notes what `work` is refused with. */
  async function noted<T>(
    owner: Owner,
    via: string | undefined,
    session: string | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      const error = toHotcellError(thrown);
      metrics.refused(error.code);
      audit.record({
        event: 'refused',
        owner: owner.id,
        ...(via === undefined ? {} : { via }),
        ...(session === undefined ? {} : { session }),
        refusal: error.code,
      });
      throw error;
    }
  }

  return {
    open: (owner, request, options = {}) =>
      noted(owner, options.via, request.id, () => enter(owner, request, options).opened),

    use: (owner, id, options = {}) =>
      noted(owner, options.via, id, async () => {
        requireRunning();
        if (id === undefined && owner.withoutDefault === true) return enter(owner, {}, options).opened;
        const handle = id ?? DEFAULT_SESSION;
        const known = roster.find(owner.id, handle);
        if (known === undefined && (handle !== DEFAULT_SESSION || owner.withoutDefault === true)) {
          throw missing(owner, handle);
        }
        // Others may wait for the same opening: it does not end with one caller's signal.
        const entry =
          known ??
          enter(owner, { name: DEFAULT_SESSION }, { ...(options.via === undefined ? {} : { via: options.via }) });
        const session = await unlessWithdrawn(entry.opened, options.signal);
        session.touch();
        return session;
      }),

    list: (owner) =>
      living()
        .filter((entry) => entry.owner.id === owner.id)
        .map(({ session }) => session!),

    close: (owner, id) =>
      noted(owner, undefined, id, async () => {
        const entry = roster.find(owner.id, id);
        if (entry !== undefined) return closeEntry(entry, 'asked');
        if (roster.epitaph(owner.id, id) === undefined) throw missing(owner, id);
      }),

    find: (uniqueId) => {
      const entry = byUniqueId.get(uniqueId);
      return entry?.closing === undefined ? entry?.session : undefined;
    },

    census: () => {
      const counts = new Map<string, { state: SessionState; driver: string; count: number }>();
      for (const entry of roster.all()) {
        const state = entry.session?.state() ?? entry.state;
        const driver = entry.session?.driver ?? entry.driver;
        const { count } = counts.get(`${state} ${driver}`) ?? { count: 0 };
        counts.set(`${state} ${driver}`, { state, driver, count: count + 1 });
      }
      return [...counts.values()];
    },

    shutdown: () => {
      shuttingDown ??= (async () => {
        reaper.stop();
        await Promise.allSettled(roster.all().map((entry) => closeEntry(entry, 'shutdown')));
      })();
      return shuttingDown;
    },
  };
}

type ClosingReason = 'asked' | 'idle' | 'age' | 'shutdown';

const EPITAPHS: Readonly<Record<ClosingReason, string>> = {
  asked: 'was closed',
  idle: 'was closed because nobody had used it for a while',
  age: 'was closed because it had reached its maximum age',
  shutdown: 'was closed with the server',
};

function policyOf({ spec: { limits, mounts, image } }: OpenedSession): Record<string, unknown> {
  return { limits, ...(mounts.length === 0 ? {} : { mounts }), ...(image === undefined ? {} : { image }) };
}

function unlessWithdrawn<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const withdraw = () => reject(new HotcellError('cancelled', 'the call was withdrawn'));
    if (signal.aborted) withdraw();
    signal.addEventListener('abort', withdraw, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', withdraw));
  });
}
