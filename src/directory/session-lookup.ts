import { HotcellError } from '../errors/hotcell-error.ts';
import { unlessWithdrawn } from '../lib/unless-withdrawn.ts';
import type { DirectorySession } from './managed-session.ts';
import { missingSession } from './missing-session.ts';
import type { Entry, Openings } from './openings.ts';
import type { Owner } from './owner.ts';
import type { Persistence } from './persistence.ts';
import type { Roster } from './roster.ts';
import type { CallOptions } from './session-directory.ts';

/** Finds the session that a call names. */
export interface SessionLookup {
  /**
   * The session with that id or name; without an id, the owner's default session, or a new one for an anonymous owner.
   */
  use(owner: Owner, id: string | undefined, call: CallOptions): Promise<DirectorySession>;
  /**
   * The entry with that id or name, after a takeover if it survived another server. Throws if the owner never had it.
   */
  find(owner: Owner, handle: string): Promise<Entry | undefined>;
}

export interface LookupOptions {
  readonly roster: Pick<Roster<Entry>, 'find' | 'closedReason'>;
  readonly openings: Pick<Openings, 'begin'>;
  readonly persistence: Pick<Persistence, 'recall'>;
  /** Throws while the server shuts down. */
  readonly requireRunning: () => void;
}

/** Name of the session that is used when a call names none. */
export const DEFAULT_SESSION = 'default';

export function createSessionLookup({ roster, openings, persistence, requireRunning }: LookupOptions): SessionLookup {
  /**
   * Takes over sessions that survived another server, if none here has that id or name. The caller looks it up
   * afterwards: another call may have begun to open it.
   */
  async function recallFor(owner: Owner, handle: string): Promise<void> {
    if (roster.find(owner.id, handle) !== undefined) return;
    await persistence.recall(owner, { again: true });
    requireRunning();
  }

  return {
    async use(owner, id, { signal, ...call }) {
      requireRunning();
      const hasDefault = owner.isAnonymous !== true;
      if (id === undefined && !hasDefault) return openings.begin(owner, {}, { signal, ...call }).opened;
      const handle = id ?? DEFAULT_SESSION;
      await recallFor(owner, handle);
      const known = roster.find(owner.id, handle);
      if (known === undefined && !(handle === DEFAULT_SESSION && hasDefault)) {
        throw missingSession(handle, roster.closedReason(owner.id, handle));
      }
      // Other callers may wait for the same opening, so one caller's signal does not abort it.
      const { opened } = known ?? openings.begin(owner, { name: DEFAULT_SESSION }, call);
      const session = await unlessWithdrawn(opened, signal, withdrawal);
      session.touch();
      return session;
    },
    async find(owner, handle) {
      await recallFor(owner, handle);
      const entry = roster.find(owner.id, handle);
      if (entry !== undefined || roster.closedReason(owner.id, handle) !== undefined) return entry;
      throw missingSession(handle, undefined);
    },
  };
}

function withdrawal(): HotcellError {
  return new HotcellError('cancelled', 'the call was cancelled');
}
