import { HotcellError } from '../errors/hotcell-error.ts';
import type { LiveSessions } from '../sessions/live-sessions.ts';
import type { ClosingReason } from '../telemetry/feed.ts';
import type { Entry } from './openings.ts';
import type { Persistence } from './persistence.ts';
import type { Roster } from './roster.ts';
import type { SessionEvents } from './session-events.ts';

/** How sessions leave the directory. */
export interface Closings {
  /**
   * Closes a session once: later calls return the first call's promise. Resolves when no caller can reach the session
   * any more; its sandbox may be removed in the background. For `left`: resolves when this server holds nothing of it.
   * Rejects if the sandbox cannot be disposed of; the session is out of the directory all the same.
   */
  close(entry: Entry, why: ClosingReason): Promise<void>;
}

export interface ClosingsOptions {
  readonly roster: Roster<Entry>;
  readonly live: Pick<LiveSessions, 'discard'>;
  readonly persistence: Pick<Persistence, 'forget'>;
  readonly events: Pick<SessionEvents, 'closed'>;
}

const CLOSED_REASONS: Readonly<Record<ClosingReason, string>> = {
  asked: 'was closed',
  idle: 'was closed because it had not been used for a while',
  age: 'was closed because it had reached its maximum age',
  shutdown: 'was closed with the server',
  left: 'lives on without this server',
};

export function createClosings({ roster, live, persistence, events }: ClosingsOptions): Closings {
  async function end(entry: Entry, why: ClosingReason): Promise<void> {
    entry.stop.abort(new HotcellError('session_closed', `the session ${entry.id} ${CLOSED_REASONS[why]}`));
    const session = entry.session ?? (await entry.opened.catch(() => undefined));
    if (session === undefined) return why === 'left' ? undefined : discard(entry); // the abort stopped its opening
    session.retire();
    // The id is free for a new session; this one counts against the quota until it is gone.
    roster.retire(entry, CLOSED_REASONS[why]);
    try {
      if (why === 'left') return await session.leave();
      if (why === 'age') await session.expire();
      await session.dispose();
      await persistence.forget(entry);
    } finally {
      roster.remove(entry);
      events.closed(entry, why);
    }
  }

  /**
   * Ends the sandbox of a session that another server left, connected or not. SECURITY: a guest that does not answer
   * would otherwise outlive its owner's token.
   */
  async function discard(entry: Entry): Promise<void> {
    if (entry.record === undefined) return;
    try {
      await live.discard(entry.record);
      await persistence.forget(entry);
    } catch (error) {
      // Its sandbox may live on, so it still counts, and a later close tries again.
      entry.isUnreached = true;
      delete entry.closing;
      throw error;
    }
    roster.remove(entry);
  }

  return {
    close: (entry, why) => {
      entry.closing ??= end(entry, why);
      return entry.closing;
    },
  };
}
