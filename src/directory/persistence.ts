import { toHotcellError } from '../errors/hotcell-error.ts';
import { isSandboxGone } from '../guest/live-sandbox.ts';
import type { Clock } from '../lib/clock.ts';
import type { Host } from '../sandbox/host.ts';
import { whyDue } from '../sessions/lifetime.ts';
import type { LiveSessions } from '../sessions/live-sessions.ts';
import type { PersistencePlan } from '../sessions/persistence-plan.ts';
import type { FoundRecord, PersistentRecord, PersistentRecords } from '../sessions/persistent-records.ts';
import type { CheckedRequest } from './open-request.ts';
import type { Entry, Openings } from './openings.ts';
import type { Owner } from './owner.ts';
import type { Roster } from './roster.ts';

/** What the directory does for sessions that outlive their server: writes them down, and brings them back. */
export interface Persistence {
  /** What the library is told of a session that is being opened. */
  planOf(entry: Entry, request: CheckedRequest, record?: PersistentRecord): PersistencePlan | undefined;
  used(entry: Entry): void;
  /** Nothing of it is left. */
  forget(entry: Entry): Promise<void>;
  /** It could not be opened, or taken over: forgets it unless a later attempt may find it. */
  failed(entry: Entry, error: unknown, record?: PersistentRecord): Promise<void>;
  /**
   * Takes over what this owner has in servers that are gone; they are then in the directory, being connected. Looks once for an owner, unless `again`: a
   * server that ran beside this one may have ended since. Never rejects.
   */
  recall(owner: Owner, options?: { again?: boolean }): Promise<void>;
}

export interface PersistenceOptions {
  readonly records: PersistentRecords;
  /** SECURITY: asked before it is taken over. A server that has other folders must not end, by a look, what is not its own. */
  readonly mayTakeOver: LiveSessions['mayTakeOver'];
  readonly host: Pick<Host, 'serverId' | 'isServerAlive'>;
  readonly roster: Pick<Roster<Entry>, 'all' | 'find'>;
  readonly openings: () => Pick<Openings, 'resume'>;
  readonly clock: Clock;
}

/** SECURITY: two sessions in one sandbox would share whatever is in it. Which of the records is true nobody can tell. */
function isDisputed({ uniqueId, spec }: PersistentRecord, all: readonly FoundRecord[]): boolean {
  return all.some(({ record }) => record.spec.id === spec.id && record.uniqueId !== uniqueId);
}

/** For the sessions of one owner. */
interface Look {
  hasBegun: boolean;
  done: Promise<void>;
}

/** A server that was restarted is back by then. */
const INTERRUPT_ALONE_MS = 60_000;

export function createPersistence(options: PersistenceOptions): Persistence {
  const { records, mayTakeOver, host, roster, openings, clock } = options;
  const looks = new Map<string, Look>();
  const has = (uniqueId: string) => roster.all().some((entry) => entry.uniqueId === uniqueId);

  async function look(owner: Owner): Promise<void> {
    const all = await records.all();
    for (const found of all) {
      if (found.record.owner !== owner.id || !(await isFree(found)) || isCalledAsAnother(found.record)) continue;
      if (isDisputed(found.record, all)) continue;
      if (await records.claim(found)) openings().resume(owner, found.record);
    }
  }

  /** The owner has opened another by that id or name here meanwhile: this one waits until that is closed. */
  function isCalledAsAnother({ owner, id, name = id }: PersistentRecord): boolean {
    return [id, name].some((handle) => roster.find(owner, handle) !== undefined);
  }

  /** One that this server holds and does not have is one that it could not reach before. */
  async function isFree({ record, holder, lastUsedAt }: FoundRecord): Promise<boolean> {
    if (has(record.uniqueId) || whyDue({ ...record, lastUsedAt, inUse: false }, clock.now()) !== undefined)
      return false;
    if (!mayTakeOver(record)) return false;
    return holder === host.serverId || !(await host.isServerAlive(holder));
  }

  return {
    planOf: ({ id, name, uniqueId, owner, askedAt, isPersistent }, { idleMs, maxAgeMs }, record) => {
      if (!isPersistent) return undefined;
      const facts = { uniqueId, id, name, owner: owner.id, openedAt: record?.openedAt ?? askedAt, idleMs, maxAgeMs };
      return {
        alone: { interruptAfterMs: INTERRUPT_ALONE_MS, endAfterMs: idleMs },
        keep: (spec, driver) => records.write({ ...facts, spec, driver }),
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
      // Whatever else kept it from being reached may be over the next time. One that has a folder which is denied now has been ended.
      const isGone = record === undefined || isSandboxGone(error) || toHotcellError(error).code === 'mount_denied';
      if (entry.isPersistent && isGone) await records.remove(entry.uniqueId);
    },
    recall: (owner, { again = false } = {}) => {
      const before = looks.get(owner.id);
      // One that has not begun will see whatever there is now. SECURITY: or each of a crowd of unknown ids would cost a reading of all records.
      if (before !== undefined && !(again && before.hasBegun)) return before.done;
      const next: Look = { hasBegun: false, done: Promise.resolve() };
      const begin = () => {
        next.hasBegun = true;
        return look(owner);
      };
      // One after the other, or two would take the same one.
      next.done = (before?.done ?? Promise.resolve()).then(begin).catch(() => {});
      looks.set(owner.id, next);
      return next.done;
    },
  };
}
