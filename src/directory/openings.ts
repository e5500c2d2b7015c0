import type { Config } from '../config/schema.ts';
import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { Clock } from '../lib/clock.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import { newId } from '../lib/ids.ts';
import type { LiveSession } from '../sessions/open-session.ts';
import type { PersistentRecord } from '../sessions/persistent-records.ts';
import type { HeldAhead } from '../sessions/pool-stock.ts';
import { type Activity, createActivity } from './activity.ts';
import { allowedImage } from './allowed-image.ts';
import type { DirectorySession } from './managed-session.ts';
import { type CheckedRequest, checkRequest, type OpenRequest } from './open-request.ts';
import { LOCAL_OWNER, type Owner } from './owner.ts';
import { admit, displaced, fitsQuotas, type Holding, requireMemory } from './quota.ts';
import type { Roster } from './roster.ts';

/** A session in the directory, open or being opened. */
export interface Entry {
  readonly id: string;
  readonly name: string | undefined;
  readonly owner: Owner;
  /** Id of the session in the whole server, whatever its owner calls it. */
  readonly uniqueId: string;
  /** The requested isolation. */
  readonly isolation: string;
  /** The tool or route that opened the session. */
  readonly via: string | undefined;
  readonly askedAt: number;
  /** Memory limit of the session, which counts against its owner's quota. */
  readonly memoryBytes: number;
  /** Whether the session survives the server. */
  readonly isPersistent: boolean;
  /** Record of the session, if another server opened it. */
  readonly record?: PersistentRecord | undefined;
  /**
   * Whether this server could not connect to a session that another server left, and may try again. SECURITY: its
   * sandbox lives, so it counts against the quotas of its owner.
   */
  isUnreached: boolean;
  readonly activity: Activity;
  /** Aborted, with the reason, to stop the opening. */
  readonly stop: AbortController;
  /** Whether the opening waits in the queue. */
  isWaiting: boolean;
  session?: DirectorySession;
  opened: Promise<DirectorySession>;
  closing?: Promise<void>;
}

interface OpeningOptions {
  readonly signal?: AbortSignal | undefined;
  readonly via?: string | undefined;
}

export interface OpeningsOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly roster: Roster<Entry>;
  /** Name of the image that is used when a request names none. */
  readonly standardImage: () => string;
  /** Opens the session in the library. */
  readonly openSession: (entry: Entry, request: CheckedRequest, record?: PersistentRecord) => Promise<LiveSession>;
  /** Called with the open session; returns it as the directory manages it. */
  readonly onOpened: (
    entry: Entry,
    request: CheckedRequest,
    core: LiveSession,
    record?: PersistentRecord,
  ) => DirectorySession;
  /** The sandboxes made ahead that count as sessions of an owner, until they are dropped. */
  readonly ahead: {
    heldAhead(owner: string): HeldAhead;
    dropAhead(owner: string): void;
  };
  /** Called when the session was used. */
  readonly onUsed: (entry: Entry) => void;
  /** Called when the session could not be opened. Returns whether its sandbox lives on. */
  readonly onFailed: (
    entry: Entry,
    error: unknown,
    record?: PersistentRecord,
  ) => Promise<{ readonly livesOn: boolean }>;
}

/**
 * How sessions enter the directory: checked, within the quotas, and a bounded number at once, round robin over owners.
 */
export interface Openings {
  /**
   * Begins to open a session. Throws what can be refused at once; later failures reject the entry's `opened`, and the
   * entry is removed.
   */
  begin(owner: Owner, request: OpenRequest, options: OpeningOptions): Entry;
  /** Takes over a session that survived another server. It exists already, so no quota refuses it. */
  resume(owner: Owner, record: PersistentRecord): Entry;
  /**
   * Waits for a slot to replace a lost sandbox. SECURITY: a tenant that kills its own sandboxes must not start more at
   * once than one that opens sessions.
   */
  place(owner: Owner, signal: AbortSignal): Promise<() => void>;
  /** Whether the owner's quotas have room for one more, beside its sessions and what is made ahead for it. */
  mayHoldAhead(owner: Owner, held: HeldAhead, memoryBytes: number): boolean;
}

export function createOpenings(options: OpeningsOptions): Openings {
  const { config, clock, roster, standardImage, openSession, ahead, onOpened, onUsed, onFailed } = options;
  const queue = createFairQueue(config.maxOpenings, { alone: LOCAL_OWNER });

  function begin(owner: Owner, request: OpenRequest, { signal, via }: OpeningOptions): Entry {
    const image = allowedImage(owner.id, request, { config, standardImage });
    const checked = checkRequest({ ...request, ...(image === undefined ? {} : { image }) }, config);
    const uniqueId = newId('s');
    const entry = newEntry(owner, checked, { id: checked.id ?? uniqueId, uniqueId, via });
    roster.requireFree(entry);
    if (!mayHoldAhead(owner, ahead.heldAhead(owner.id), entry.memoryBytes)) ahead.dropAhead(owner.id);
    requireMemory(owner.quotas.memoryBytes, roster.of(owner.id), entry);
    makeRoom(owner);
    return add(entry, start(entry, checked, { signal }));
  }

  function mayHoldAhead({ id, quotas }: Owner, held: HeldAhead, memoryBytes: number): boolean {
    const theirs = roster.of(id);
    const all = {
      sandboxes: theirs.length + held.sandboxes,
      memoryBytes: theirs.reduce((sum, entry) => sum + entry.memoryBytes, held.memoryBytes),
    };
    return fitsQuotas(quotas, all, memoryBytes);
  }

  function resume(owner: Owner, record: PersistentRecord): Entry {
    const { id, name, uniqueId, driver, idleMs, maxAgeMs } = record;
    const request: CheckedRequest = {
      isolation: driver,
      persistent: true,
      idleMs,
      maxAgeMs,
      limits: record.spec.limits,
      ...(name === undefined ? {} : { name }),
    };
    const entry = newEntry(owner, request, { id, uniqueId, via: 'recall', record });
    roster.requireFree(entry);
    for (const before of roster.of(owner.id)) {
      if (before.isUnreached && before.uniqueId === uniqueId) roster.remove(before);
    }
    return add(entry, start(entry, request, { record }));
  }

  function newEntry(
    owner: Owner,
    request: CheckedRequest,
    identity: Pick<Entry, 'id' | 'uniqueId' | 'via' | 'record'>,
  ): Entry {
    const entry: Entry = {
      ...identity,
      name: request.name,
      owner,
      activity: createActivity(clock, () => onUsed(entry)),
      isolation: request.isolation ?? config.isolation,
      askedAt: clock.now(),
      memoryBytes: request.limits?.memoryBytes ?? config.memoryBytes,
      isPersistent: request.persistent === true,
      stop: new AbortController(),
      isWaiting: true,
      isUnreached: false,
      opened: undefined as never, // set by `add`
    };
    return entry;
  }

  function add(entry: Entry, opened: Promise<DirectorySession>): Entry {
    roster.add(entry);
    entry.opened = opened;
    entry.opened.catch(() => {});
    return entry;
  }

  /** Makes room for one more session, or throws. */
  function makeRoom(owner: Owner): void {
    const admission = admit({ id: owner.id, quota: owner.quotas.sessions }, holdings(), config.maxSessions);
    if (admission.kind === 'refused') throw admission.error;
    if (admission.kind === 'admitted') return;
    const last = roster.of(admission.owner).findLast(({ isWaiting, record }) => isWaiting && record === undefined);
    if (last === undefined) return;
    last.stop.abort(displaced());
    roster.remove(last);
  }

  function holdings(): Map<string, Holding> {
    const found = new Map<string, Holding>();
    for (const { owner, isWaiting } of roster.all()) {
      const { sessions, waiting } = found.get(owner.id) ?? { sessions: 0, waiting: 0 };
      found.set(owner.id, { sessions: sessions + 1, waiting: waiting + (isWaiting ? 1 : 0) });
    }
    return found;
  }

  async function start(
    entry: Entry,
    request: CheckedRequest,
    { signal, record }: { signal?: AbortSignal | undefined; record?: PersistentRecord },
  ): Promise<DirectorySession> {
    const { owner, stop } = entry;
    const withdraw = () => stop.abort(new HotcellError('cancelled', 'opening the session was cancelled'));
    signal?.addEventListener('abort', withdraw, { once: true });
    if (signal?.aborted === true) withdraw();
    try {
      const release = await queue.take(owner.id, { signal: stop.signal });
      entry.isWaiting = false;
      const core = await openSession(entry, request, record).finally(release);
      // A persistent session survives this server, so a stopped takeover leaves it alone.
      if (stop.signal.aborted) await (record === undefined ? core.close() : core.leave());
      stop.signal.throwIfAborted();
      entry.session = onOpened(entry, request, core, record);
      return entry.session;
    } catch (thrown) {
      const error = stop.signal.aborted ? stop.signal.reason : thrown;
      if (record !== undefined) roster.retire(entry, `could not be taken over: ${toHotcellError(error).message}`);
      const { livesOn } = await onFailed(entry, error, record);
      entry.isUnreached = livesOn;
      if (!livesOn) roster.remove(entry);
      throw error;
    } finally {
      entry.isWaiting = false;
      signal?.removeEventListener('abort', withdraw);
    }
  }

  return { begin, resume, mayHoldAhead, place: ({ id }, signal) => queue.take(id, { signal }) };
}
