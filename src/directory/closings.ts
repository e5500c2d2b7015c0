import { HotcellError } from '../errors/hotcell-error.ts';
import type { ClosingReason } from '../telemetry/feed.ts';
import type { Entry } from './openings.ts';
import type { Persistence } from './persistence.ts';
import type { Roster } from './roster.ts';
import type { SessionEvents } from './session-events.ts';

/** How sessions leave the directory. */
export interface Closings {
  /**
   * Resolves when nobody can reach it any more; the removal of its sandbox may go on behind. Where it is `left`: when nothing here holds it. Happens once: who closes it again waits for the same. Where its sandbox cannot be disposed of it rejects, and the session is out of the directory all the same.
   */
  close(entry: Entry, why: ClosingReason): Promise<void>;
}

export interface ClosingsOptions {
  readonly roster: Roster<Entry>;
  readonly persistence: Pick<Persistence, 'forget'>;
  readonly events: Pick<SessionEvents, 'closed'>;
}

const EPITAPHS: Readonly<Record<ClosingReason, string>> = {
  asked: 'was closed',
  idle: 'was closed because nobody had used it for a while',
  age: 'was closed because it had reached its maximum age',
  shutdown: 'was closed with the server',
  left: 'lives on without this server',
};

export function createClosings({ roster, persistence, events }: ClosingsOptions): Closings {
  async function end(entry: Entry, why: ClosingReason): Promise<void> {
    // One that is only being taken over exists already: whoever closes it wants that to end.
    if (entry.isTakenOver && why !== 'left') await entry.opened;
    entry.stop.abort(new HotcellError('session_closed', `the session ${entry.id} ${EPITAPHS[why]}`));
    const session = entry.session ?? (await entry.opened.catch(() => undefined));
    if (session === undefined) return; // it was still being opened, and is not any more
    session.retire();
    // It cannot be called by its id any more, but counts until nothing of it is left.
    roster.bury(entry, EPITAPHS[why]);
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

  return {
    close: (entry, why) => {
      entry.closing ??= end(entry, why);
      return entry.closing;
    },
  };
}
