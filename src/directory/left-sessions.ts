import { type HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Host } from '../sandbox/host.ts';
import { expiresAt, whyDue } from '../sessions/lifetime.ts';
import type { LiveSessions } from '../sessions/live-sessions.ts';
import type { FoundRecord, PersistentRecords } from '../sessions/persistent-records.ts';
import type { Entry } from './openings.ts';
import type { Roster } from './roster.ts';

/**
 * Persistent sessions that no server has: their server is gone, or this one could not reach them. They are ended without
 * a connection, whatever the mount policy says. SECURITY: a guest that does not answer, or an image that does not end
 * itself, would otherwise outlive its owner's token and its own lifetime.
 */
export interface LeftSessions {
  /** Ends those that `which` selects. Tries each of them; returns the errors of those that are still there. */
  end(which: (found: FoundRecord) => boolean): Promise<readonly HotcellError[]>;
  isDue(found: FoundRecord): boolean;
  /** Ends those that are due, whenever one is. */
  watch(): void;
  stop(): void;
}

export interface LeftSessionsOptions {
  readonly records: PersistentRecords;
  readonly live: Pick<LiveSessions, 'discard'>;
  readonly host: Pick<Host, 'serverId' | 'isServerAlive'>;
  readonly roster: Pick<Roster<Entry>, 'all' | 'remove'>;
  readonly clock: Clock;
}

/** Sessions are left while this server runs, too, so it looks even if none is due. */
const LONGEST_PAUSE_MS = 60_000;
const SHORTEST_PAUSE_MS = 1_000;

export function createLeftSessions({ records, live, host, roster, clock }: LeftSessionsOptions): LeftSessions {
  let isStopped = false;
  let callOff: (() => void) | undefined;

  const isDue = ({ record, lastUsedAt }: FoundRecord) =>
    whyDue({ ...record, lastUsedAt, inUse: false }, clock.now()) !== undefined;

  async function isLeft({ record, holder }: FoundRecord): Promise<boolean> {
    const entry = roster.all().find(({ uniqueId }) => uniqueId === record.uniqueId);
    if (entry !== undefined && !entry.isUnreached) return false;
    return holder === host.serverId || !(await host.isServerAlive(holder));
  }

  async function end(which: (found: FoundRecord) => boolean): Promise<HotcellError[]> {
    const errors: HotcellError[] = [];
    for (const found of (await records.all()).filter(which)) {
      if (!(await isLeft(found)) || !(await records.claim(found))) continue;
      const { record } = found;
      try {
        await live.discard(record);
        await records.remove(record.uniqueId);
        for (const entry of roster.all()) {
          if (entry.isUnreached && entry.uniqueId === record.uniqueId) roster.remove(entry);
        }
      } catch (thrown) {
        errors.push(toHotcellError(thrown));
      }
    }
    return errors;
  }

  async function look(): Promise<void> {
    await end(isDue);
    const left = await records.all();
    const next = left.map(({ record, lastUsedAt }) => expiresAt({ ...record, lastUsedAt, inUse: false }));
    later(Math.min(...next, Number.POSITIVE_INFINITY) - clock.now());
  }

  function later(ms: number): void {
    if (isStopped) return;
    const pause = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, ms));
    callOff = clock.after(pause, () => void look().catch(() => later(LONGEST_PAUSE_MS)));
  }

  return {
    end,
    isDue,
    watch: () => later(SHORTEST_PAUSE_MS),
    stop: () => {
      isStopped = true;
      callOff?.();
    },
  };
}
