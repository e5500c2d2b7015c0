import { toHotcellError } from '../errors/hotcell-error.ts';
import { isSandboxGone } from '../guest/live-sandbox.ts';
import { settingList } from '../network/session-rules.ts';
import type { Host } from '../sandbox/host.ts';
import type { LiveSessions } from '../sessions/live-sessions.ts';
import type { PersistencePlan } from '../sessions/persistence-plan.ts';
import type { FoundRecord, PersistentRecord, PersistentRecords } from '../sessions/persistent-records.ts';
import type { LeftSessions } from './left-sessions.ts';
import type { CheckedRequest } from './open-request.ts';
import type { Entry, Openings } from './openings.ts';
import type { Owner } from './owner.ts';
import type { Roster } from './roster.ts';

/** Records of sessions that survive their server, and their takeover by the next one. */
export interface Persistence {
  /** Persistence plan that the library gets for a session being opened. */
  planOf(entry: Entry, request: CheckedRequest, record?: PersistentRecord): PersistencePlan | undefined;
  used(entry: Entry): void;
  /** Removes the record of a session that is gone. */
  forget(entry: Entry): Promise<void>;
  /**
   * Removes the record of a session that failed to open or to be taken over, unless a later attempt may succeed: then
   * its sandbox lives on.
   */
  failed(entry: Entry, error: unknown, record?: PersistentRecord): Promise<{ readonly livesOn: boolean }>;
  /**
   * Takes over this owner's sessions from servers that are gone; they are in the directory when it resolves, still
   * connecting. Looks once per owner; with `again` it looks again, for servers that ended since. Never rejects.
   */
  recall(owner: Owner, options?: { again?: boolean }): Promise<void>;
}

export interface PersistenceOptions {
  readonly records: PersistentRecords;
  readonly left: Pick<LeftSessions, 'end' | 'isDue'>;
  /**
   * SECURITY: checked before a takeover, so that a server configured with other folders cannot end a foreign session by
   * looking for its own.
   */
  readonly mayTakeOver: LiveSessions['mayTakeOver'];
  readonly host: Pick<Host, 'serverId' | 'isServerAlive'>;
  readonly roster: Pick<Roster<Entry>, 'all' | 'find'>;
  readonly openings: () => Pick<Openings, 'resume'>;
}

/**
 * SECURITY: two records of one sandbox are both refused, because two sessions in one sandbox would share its contents,
 * and neither record can be trusted.
 */
function isDisputed({ uniqueId, spec }: PersistentRecord, all: readonly FoundRecord[]): boolean {
  return all.some(({ record }) => record.spec.id === spec.id && record.uniqueId !== uniqueId);
}

/** One search for an owner's persistent sessions. */
interface Search {
  hasBegun: boolean;
  done: Promise<void>;
}

/** Time without a server after which the guest interrupts the running execution. A restarted server is back by then. */
const INTERRUPT_ALONE_MS = 60_000;

export function createPersistence(options: PersistenceOptions): Persistence {
  const { records, left, mayTakeOver, host, roster, openings } = options;
  const searches = new Map<string, Search>();
  const has = (uniqueId: string) => roster.all().some((entry) => entry.uniqueId === uniqueId && !entry.isUnreached);

  async function search(owner: Owner): Promise<void> {
    const all = await records.all();
    const isDue = (found: FoundRecord) => found.record.owner === owner.id && left.isDue(found);
    if (all.some(isDue)) await left.end(isDue);
    for (const found of all) {
      if (found.record.owner !== owner.id || !(await isFree(found)) || isNameTaken(found.record)) continue;
      if (isDisputed(found.record, all)) continue;
      if (await records.claim(found)) openings().resume(owner, found.record);
    }
  }

  /**
   * Whether the owner has meanwhile opened another session here with that id or name. This one waits until that one is
   * closed.
   */
  function isNameTaken({ owner, id, name = id }: PersistentRecord): boolean {
    return [id, name].some((handle) => roster.find(owner, handle) !== undefined);
  }

  /**
   * Whether the session can be taken over. A record that this server holds without having the session is one that it
   * failed to reach before.
   */
  async function isFree(found: FoundRecord): Promise<boolean> {
    const { record, holder } = found;
    if (has(record.uniqueId) || left.isDue(found) || !mayTakeOver(record)) return false;
    return holder === host.serverId || !(await host.isServerAlive(holder));
  }

  return {
    planOf: ({ id, name, uniqueId, owner, askedAt, isPersistent }, { idleMs, maxAgeMs }, record) => {
      if (!isPersistent) return undefined;
      const facts = { uniqueId, id, name, owner: owner.id, openedAt: record?.openedAt ?? askedAt, idleMs, maxAgeMs };
      return {
        alone: { interruptAfterMs: INTERRUPT_ALONE_MS, endAfterMs: idleMs },
        keep: (spec, driver, { network, ...kept }) =>
          records.write({ ...facts, ...kept, spec, driver, network: settingList(network) }),
        ...(record === undefined ? {} : { resume: record }),
      };
    },
    used: (entry) => {
      if (entry.isPersistent) void records.touch(entry.uniqueId);
    },
    forget: async (entry) => {
      if (entry.isPersistent) await records.remove(entry.uniqueId);
    },
    failed: async (entry, error, record) => {
      // Other failures may be over at the next attempt. A session with a mount that is now denied has been ended.
      const isGone = record === undefined || isSandboxGone(error) || toHotcellError(error).code === 'mount_denied';
      if (entry.isPersistent && isGone) await records.remove(entry.uniqueId);
      return { livesOn: !isGone };
    },
    recall: (owner, { again = false } = {}) => {
      const before = searches.get(owner.id);
      // A search that has not begun will see everything. SECURITY: otherwise each unknown id in a flood would cost a
      // reading of all records.
      if (before !== undefined && !(again && before.hasBegun)) return before.done;
      const next: Search = { hasBegun: false, done: Promise.resolve() };
      const begin = () => {
        next.hasBegun = true;
        return search(owner);
      };
      // Searches run one after another, so that two do not claim the same record.
      next.done = (before?.done ?? Promise.resolve()).then(begin).catch(() => {});
      searches.set(owner.id, next);
      return next.done;
    },
  };
}
