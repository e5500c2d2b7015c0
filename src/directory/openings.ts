import type { Config } from '../config/schema.ts';
import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { SessionCore } from '../execution/session-core.ts';
import type { Clock } from '../lib/clock.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import { newId } from '../lib/ids.ts';
import { DEFAULT_LIMITS } from '../sandbox/spec.ts';
import type { PersistentRecord } from '../sessions/persistent-records.ts';
import { type Activity, createActivity } from './activity.ts';
import { allowedImage } from './allowed-image.ts';
import type { DirectorySession } from './managed-session.ts';
import { type CheckedRequest, checkRequest, type OpenRequest } from './open-request.ts';
import { LOCAL_OWNER, type Owner } from './owner.ts';
import { admit, displaced, type Holding, requireMemory } from './quota.ts';
import type { Roster } from './roster.ts';

/** A place in the directory: a session, or one that is being opened. */
export interface Entry {
  readonly id: string;
  readonly name: string | undefined;
  readonly owner: Owner;
  /** In the whole server, whatever its owner calls it. */
  readonly uniqueId: string;
  /** What was asked for. */
  readonly isolation: string;
  /** The tool or route that asked for it. */
  readonly via: string | undefined;
  readonly askedAt: number;
  /** Its limit, which counts for its owner's quota. */
  readonly memoryBytes: number;
  /** Outlives the server. */
  readonly isPersistent: boolean;
  /** Was opened by another server. */
  readonly isTakenOver: boolean;
  readonly activity: Activity;
  /** Aborted with the reason when it is not to be opened after all. */
  readonly stop: AbortController;
  /** Still waits for its turn to be opened. */
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
  /** The name of the image that is used where none is named. */
  readonly standardImage: () => string;
  /** Asks the library for it. */
  readonly openSession: (entry: Entry, request: CheckedRequest, record?: PersistentRecord) => Promise<SessionCore>;
  /** It is open: makes it known. */
  readonly onOpened: (
    entry: Entry,
    request: CheckedRequest,
    core: SessionCore,
    record?: PersistentRecord,
  ) => DirectorySession;
  /** The session was used. */
  readonly onUsed: (entry: Entry) => void;
  readonly onFailed: (entry: Entry, error: unknown, record?: PersistentRecord) => Promise<void>;
}

/** How sessions come into the directory: checked, within the quotas, so many at once, owner by owner. */
export interface Openings {
  /** Throws what can be refused at once; `opened` of the entry rejects with the rest, and the entry is gone then. */
  begin(owner: Owner, request: OpenRequest, options: OpeningOptions): Entry;
  /** One that outlived another server: it exists, so no quota refuses it. */
  resume(owner: Owner, record: PersistentRecord): Entry;
  /** Waits for a place to start a sandbox in place of one that was lost. SECURITY: a tenant that ends its own sandboxes must not start more of them at once than one that opens sessions. */
  place(owner: Owner, signal: AbortSignal): Promise<() => void>;
}

export function createOpenings(options: OpeningsOptions): Openings {
  const { config, clock, roster, standardImage, openSession, onOpened, onUsed, onFailed } = options;
  const queue = createFairQueue(config.maxOpenings, { alone: LOCAL_OWNER });

  function begin(owner: Owner, request: OpenRequest, { signal, via }: OpeningOptions): Entry {
    const image = allowedImage(owner.id, request, { config, standardImage });
    const checked = checkRequest({ ...request, ...(image === undefined ? {} : { image }) }, config);
    const uniqueId = newId('s');
    const entry = newEntry(owner, checked, { id: checked.id ?? uniqueId, uniqueId, via, isTakenOver: false });
    roster.requireFree(entry);
    requireMemory(owner.quotas.memoryBytes, roster.of(owner.id), entry);
    makeRoom(owner);
    return add(entry, start(entry, checked, { signal }));
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
    const entry = newEntry(owner, request, { id, uniqueId, via: 'recall', isTakenOver: true });
    roster.requireFree(entry);
    return add(entry, start(entry, request, { record }));
  }

  function newEntry(
    owner: Owner,
    request: CheckedRequest,
    its: Pick<Entry, 'id' | 'uniqueId' | 'via' | 'isTakenOver'>,
  ): Entry {
    const entry: Entry = {
      ...its,
      name: request.name,
      owner,
      activity: createActivity(clock, () => onUsed(entry)),
      isolation: request.isolation ?? config.isolation,
      askedAt: clock.now(),
      memoryBytes: request.limits?.memoryBytes ?? DEFAULT_LIMITS.memoryBytes,
      isPersistent: request.persistent === true,
      stop: new AbortController(),
      isWaiting: true,
      opened: undefined as never, // `add` knows it
    };
    return entry;
  }

  function add(entry: Entry, opened: Promise<DirectorySession>): Entry {
    roster.add(entry);
    entry.opened = opened;
    entry.opened.catch(() => {});
    return entry;
  }

  /** Throws where there is none. */
  function makeRoom(owner: Owner): void {
    const admission = admit({ id: owner.id, quota: owner.quotas.sessions }, holdings(), config.maxSessions);
    if (admission.kind === 'refused') throw admission.error;
    if (admission.kind === 'admitted') return;
    const last = roster.of(admission.owner).findLast(({ isWaiting }) => isWaiting);
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
      // One that is only being taken over does not end because this server does.
      if (stop.signal.aborted) await (record === undefined ? core.close() : core.leave());
      stop.signal.throwIfAborted();
      entry.session = onOpened(entry, request, core, record);
      return entry.session;
    } catch (thrown) {
      const error = stop.signal.aborted ? stop.signal.reason : thrown;
      if (record !== undefined) roster.bury(entry, `could not be taken over: ${toHotcellError(error).message}`);
      roster.remove(entry);
      await onFailed(entry, error, record);
      throw error;
    } finally {
      entry.isWaiting = false;
      signal?.removeEventListener('abort', withdraw);
    }
  }

  return { begin, resume, place: ({ id }, signal) => queue.take(id, { signal }) };
}
