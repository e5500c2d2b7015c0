import type { Config } from '../config/schema.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { Clock } from '../lib/clock.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import { newId } from '../lib/ids.ts';
import type { OpenedSession, OwnedSession } from './managed-session.ts';
import { type CheckedRequest, checkRequest, type OpenRequest } from './open-request.ts';
import type { Owner } from './owner.ts';
import { admit, displaced, type Holding } from './quota.ts';
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
  /** Aborted with the reason when it is not to be opened after all. */
  readonly stop: AbortController;
  /** Still waits for its turn to be opened. */
  isWaiting: boolean;
  session?: OwnedSession;
  opened: Promise<OwnedSession>;
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
  /** Asks the library for it. */
  readonly openSession: (entry: Entry, request: CheckedRequest) => Promise<OpenedSession>;
  /** It is open: makes it known. */
  readonly onOpened: (entry: Entry, request: CheckedRequest, opened: OpenedSession) => OwnedSession;
}

/** How sessions come into the directory: checked, within the quotas, so many at once, owner by owner. */
export interface Openings {
  /** Throws what can be refused at once; `opened` of the entry rejects with the rest, and the entry is gone then. */
  begin(owner: Owner, request: OpenRequest, options: OpeningOptions): Entry;
}

export function createOpenings({ config, clock, roster, openSession, onOpened }: OpeningsOptions): Openings {
  const queue = createFairQueue(config.maxOpenings);

  function begin(owner: Owner, request: OpenRequest, { signal, via }: OpeningOptions): Entry {
    const checked = checkRequest(request, config);
    const uniqueId = newId('s');
    const entry: Entry = {
      id: checked.id ?? uniqueId,
      name: checked.name,
      owner,
      uniqueId,
      isolation: checked.isolation ?? config.isolation,
      via,
      askedAt: clock.now(),
      stop: new AbortController(),
      isWaiting: true,
      opened: undefined as never, // a few lines below
    };
    roster.requireFree(entry);
    makeRoom(owner);
    roster.add(entry);
    entry.opened = start(entry, checked, signal);
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

  async function start(entry: Entry, request: CheckedRequest, signal: AbortSignal | undefined): Promise<OwnedSession> {
    const { owner, stop } = entry;
    const withdraw = () => stop.abort(new HotcellError('cancelled', 'the opening was withdrawn'));
    signal?.addEventListener('abort', withdraw, { once: true });
    if (signal?.aborted === true) withdraw();
    try {
      const release = await queue.take(owner.id, { signal: stop.signal });
      entry.isWaiting = false;
      const opened = await openSession(entry, request).finally(release);
      if (stop.signal.aborted) await opened.session.close();
      stop.signal.throwIfAborted();
      entry.session = onOpened(entry, request, opened);
      return entry.session;
    } catch (thrown) {
      roster.remove(entry);
      throw stop.signal.aborted ? stop.signal.reason : thrown;
    } finally {
      entry.isWaiting = false;
      signal?.removeEventListener('abort', withdraw);
    }
  }

  return { begin };
}
