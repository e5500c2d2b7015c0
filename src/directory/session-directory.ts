import type { HotcellError } from '../errors/hotcell-error.ts';
import type { FoundRecord } from '../sessions/persistent-records.ts';
import type { CensusCount } from './census.ts';
import type { ManagedSession } from './managed-session.ts';
import type { OpenRequest } from './open-request.ts';
import type { Owner } from './owner.ts';

/**
 * All sessions of one server: who owns them, how many there may be, and when they end. Called by MCP and HTTP. Every
 * refusal is in the audit log and the metrics.
 */
export interface SessionDirectory {
  /** Opens a session. Rejects with a HotcellError and leaves nothing behind. */
  open(owner: Owner, request: OpenRequest, options?: CallOptions): Promise<ManagedSession>;
  /**
   * The owner's session with that id or name; without an id, the owner's default session, opened on first use. Rejects
   * with `session_closed` and the reason for a closed session, and with `session_not_found` for another owner's
   * session, as for one that never existed.
   */
  use(owner: Owner, id: string | undefined, options?: CallOptions): Promise<ManagedSession>;
  /**
   * SECURITY: empty for an anonymous owner. Several people share it, and the session's id is their only proof of
   * ownership.
   */
  list(owner: Owner): readonly ManagedSession[];
  /**
   * Takes over the owner's sessions that survived another server, for a caller that lists them all. The other calls
   * recall by themselves.
   */
  recall(owner: Owner): Promise<void>;
  /** The owner's open session with that id or name, if there is one. Opens nothing. */
  known(owner: Owner, id: string): ManagedSession | undefined;
  /** The owner's open session in which that execution runs or ran, if it is still remembered. */
  withExecution(owner: Owner, executionId: string): ManagedSession | undefined;
  /** Closes the session and resolves when nothing of it is left. Idempotent. */
  close(owner: Owner, id: string, options?: CallOptions): Promise<void>;
  /** Closes all sessions of the owner, including those still opening. Goes on after a failure. */
  closeAll(owner: Owner): Promise<void>;
  /**
   * Ends persistent sessions that no server has, of any owner, without connecting to them: those that `which` selects.
   * Tries each of them; returns the errors of those that are still there. For the operator's commands.
   */
  endLeft(which: (found: FoundRecord) => boolean): Promise<readonly HotcellError[]>;
  /**
   * The session with that unique id, of any owner. SECURITY: for callers with a proof of their own, such as a signed
   * link; never for an id from a client alone.
   */
  find(uniqueId: string): ManagedSession | undefined;
  /** Counts by state and driver, for metrics. */
  census(): readonly CensusCount[];
  /** Refuses new work, ends running executions and closes every session. Idempotent. */
  shutdown(): Promise<void>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** The tool or route, for the audit log. */
  readonly via?: string;
  /** Check of the caller's own arguments. It runs first, and a refusal is recorded like any other. */
  readonly check?: () => void;
}
