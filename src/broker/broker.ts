import type { CallServer, LiveSandbox } from '../guest/live-sandbox.ts';
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
   * sandbox of the pool has no owner. What a call says about its owner or session does not matter. Called again when the
   * session may call other methods; calls that are open go on.
   */
  bind(live: Pick<LiveSandbox, 'serveCalls'>, session: BoundSession): void;
}

export interface BoundSession {
  readonly owner: string;
  /** The unique id of the session. */
  readonly session: string;
  /** Names of the methods that the session may call. The others do not exist for it. */
  readonly methods: ReadonlySet<string>;
  /** Called when a call has ended. It must not throw. */
  readonly onCall?: ((record: CallRecord) => void) | undefined;
}

/** Calls that are served at once; further ones wait, round robin by owner. One owner alone gets at most half. */
const PLACES = 512;
const MiB = 1_048_576;
/**
 * Memory for the arguments, the unread input and the unsent output of one session's calls, and of one owner's. As many
 * calls as a session may have, each with a full window of unread input, are within the first. Connections
 * have memory of their own: servers that do not read leave the calls alone.
 */
const CALL_BYTES = { session: 48 * MiB, owner: 128 * MiB };
const CONNECTION_BYTES = { session: 96 * MiB, owner: 128 * MiB };
/** The owner of a local server, who shares it with no other. */
const LOCAL_OWNER = 'local';

export function createBroker(methods: readonly Method[]): Broker {
  const named = new Map(methods.map((method) => [method.name, method]));
  const places = createFairQueue(PLACES, { alone: LOCAL_OWNER });
  const ofCalls = heldBytes(CALL_BYTES);
  const ofConnections = heldBytes(CONNECTION_BYTES);

  return {
    bind(live, { owner, session, methods: offered, onCall }) {
      const serve: CallServer = (call, running) => {
        const method = offered.has(call.method) ? named.get(call.method) : undefined;
        const isOfNone = call.execution !== null && running === undefined;
        if (method === undefined || isOfNone) {
          call.reply(
            method === undefined
              ? { code: 'unknown-method', message: 'this host has no method of that name' }
              : { code: 'execution-ended', message: 'the execution of the call is over' },
          );
          return () => {};
        }
        const { sessions, owners } = method.takesPlace ? ofCalls : ofConnections;
        let held = 0;
        let hasEnded = false;
        return serveCall(call, {
          method,
          running,
          caller: { owner, session, execution: call.execution },
          place: (signal) => places.take(owner, { signal }),
          hold: (bytes) => {
            if (hasEnded || !sessions.add(session, bytes)) return false;
            if (!owners.add(owner, bytes)) {
              sessions.remove(session, bytes);
              return false;
            }
            held += bytes;
            return true;
          },
          letGo: (bytes) => {
            if (hasEnded) return;
            held -= bytes;
            sessions.remove(session, bytes);
            owners.remove(owner, bytes);
          },
          ended: (record) => {
            hasEnded = true;
            sessions.remove(session, held);
            owners.remove(owner, held);
            if (!method.reportsItself) onCall?.(record);
          },
        });
      };
      live.serveCalls(serve, { isForPrograms: [...offered].some((name) => named.get(name)?.isForPrograms) });
    },
  };
}

function heldBytes({ session, owner }: { session: number; owner: number }) {
  return { sessions: createHeldBytes(session), owners: createHeldBytes(owner) };
}
