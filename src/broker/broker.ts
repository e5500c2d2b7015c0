import type { LiveSandbox } from '../guest/live-sandbox.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import { createHeldBytes } from './held-bytes.ts';
import type { Method } from './method.ts';
import { type CallRecord, serveCall } from './served-call.ts';

/**
 * Serves the calls of all sandboxes of one Hotcell. Made by `main.ts` if there is any method; `sessions/` binds it to
 * each sandbox of a session.
 */
export interface Broker {
  /**
   * Serves the calls of a sandbox in the name of a session. Called when the session gets the sandbox, never before: a
   * sandbox of the pool has no owner. What a call says about its owner or session does not matter.
   */
  bind(live: Pick<LiveSandbox, 'serveCalls'>, session: BoundSession): void;
}

export interface BoundSession {
  readonly owner: string;
  /** The unique id of the session. */
  readonly session: string;
  /** Called when a call has ended. It must not throw. */
  readonly onCall?: ((record: CallRecord) => void) | undefined;
}

/** Calls that are served at once; further ones wait, round robin by owner. One owner alone gets at most half. */
const PLACES = 512;
/**
 * Memory for the arguments and the unread input of one session's calls, and of one owner's. As many calls as a session
 * may have, each with a full window of input that nobody reads, are within the first.
 */
const SESSION_BYTES = 48 * 1_048_576;
const OWNER_BYTES = 128 * 1_048_576;
/** The owner of a local server, who shares with nobody. */
const LOCAL_OWNER = 'local';

export function createBroker(methods: readonly Method[]): Broker {
  const named = new Map(methods.map((method) => [method.name, method]));
  const places = createFairQueue(PLACES, { alone: LOCAL_OWNER });
  const [ofSessions, ofOwners] = [createHeldBytes(SESSION_BYTES), createHeldBytes(OWNER_BYTES)];

  return {
    bind(live, { owner, session, onCall }) {
      live.serveCalls((call, running) => {
        const method = named.get(call.method);
        const isOfNone = call.execution !== null && running === undefined;
        if (method === undefined || isOfNone) {
          call.reply(
            method === undefined
              ? { code: 'unknown-method', message: 'this host has no method of that name' }
              : { code: 'execution-ended', message: 'the execution of the call is over' },
          );
          return () => {};
        }
        let heldBytes = 0;
        return serveCall(call, {
          method,
          running,
          caller: { owner, session, execution: call.execution },
          place: (signal) => places.take(owner, { signal }),
          hold: (bytes) => {
            if (!ofSessions.add(session, bytes)) return false;
            if (!ofOwners.add(owner, bytes)) {
              ofSessions.remove(session, bytes);
              return false;
            }
            heldBytes += bytes;
            return true;
          },
          letGo: (bytes) => {
            heldBytes -= bytes;
            ofSessions.remove(session, bytes);
            ofOwners.remove(owner, bytes);
          },
          ended: (record) => {
            ofSessions.remove(session, heldBytes);
            ofOwners.remove(owner, heldBytes);
            onCall?.(record);
          },
        });
      });
    },
  };
}
