import type { ErrorCode } from '../errors/codes.ts';
import type { Outcome } from '../sandbox/outcome.ts';

/**
 * The events of a server, as one typed stream. The directory and the surfaces emit; the audit log and the metrics read. SECURITY: an event has
 * no member for code, output, contents of files or tokens; a hash identifies a piece of code.
 */
export interface Feed {
  /** Called on the path of every call: readers are synchronous, cheap and never throw. */
  emit(event: FeedEvent): void;
  /** Returns the function that unsubscribes. */
  subscribe(reader: (event: FeedEvent) => void): () => void;
}

export type FeedEvent =
  | SessionOpened
  | SessionClosed
  | ExecutionBegan
  | ExecutionEnded
  | FileCopied
  | CallEnded
  | NetworkDecided
  | NetworkChanged
  | PackagesInstalled
  | Refused
  | TokenChanged;

/** Members of every event in a session. */
interface InSession {
  readonly owner: string;
  /** The unique id, never the id or the name that the owner chose, which can be used again. */
  readonly session: string;
  readonly isolation: { readonly driver: string; readonly level: number; readonly shape: string };
}

export interface SessionOpened extends InSession {
  readonly event: 'session-opened';
  /** The id that the owner chose, or the unique id. */
  readonly id: string;
  readonly name?: string;
  /** The tool or route of the call. */
  readonly via?: string;
  /** Limits and permissions in force. */
  readonly policy: Readonly<Record<string, unknown>>;
  readonly durationMs: number;
}

/** `left`: the server stopped, and the sandbox lives on. */
export type ClosingReason = 'asked' | 'idle' | 'age' | 'shutdown' | 'left';

export interface SessionClosed {
  readonly event: 'session-closed';
  readonly owner: string;
  readonly session: string;
  readonly driver: string;
  readonly why: ClosingReason;
}

export interface ExecutionBegan extends InSession {
  readonly event: 'execution-began';
  readonly execution: string;
  readonly via?: string;
  readonly code: CodeHash;
  readonly policy: Readonly<Record<string, unknown>>;
}

export interface ExecutionEnded extends InSession {
  readonly event: 'execution-ended';
  readonly execution: string;
  readonly via?: string;
  readonly outcome: Outcome['kind'];
  readonly durationMs: number;
  readonly codeBytes: number;
  readonly outputBytes: number;
}

export interface FileCopied extends InSession {
  readonly event: 'file-written' | 'file-read' | 'file-removed';
  /** The path, relative to the workspace. */
  readonly path: string;
  /** The route of the read, if it was not a call of the owner. */
  readonly via?: string;
  readonly sizeBytes: number;
}

/** A call of a program in the sandbox to a method of the host. */
export interface CallEnded extends Omit<InSession, 'isolation'> {
  readonly event: 'call-ended';
  /** Absent for a call of a background process. */
  readonly execution?: string;
  readonly method: string;
  /** `ok`, or the code of the failure. */
  readonly outcome: string;
  readonly durationMs: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Facts of the method about the call, such as a host or a model. */
  readonly facts: Readonly<Record<string, string | number | boolean>>;
}

/** A decision about a connection of a sandbox to a server, or the end of one. */
export interface NetworkDecided extends Omit<InSession, 'isolation'> {
  readonly event: 'connection-opened' | 'connection-refused' | 'connection-failed' | 'connection-closed';
  readonly host: string;
  readonly port: number;
  /** Why it was refused or failed, or how it ended. */
  readonly why?: string;
  readonly durationMs?: number;
  readonly sentBytes?: number;
  readonly receivedBytes?: number;
  /** The rule that allowed it, the address, and the name that the client used instead. */
  readonly facts?: Readonly<Record<string, string | number | boolean>>;
}

/** The network setting of a session was changed. */
export interface NetworkChanged extends InSession {
  readonly event: 'network-changed';
  readonly via?: string;
  /** The setting, and what a person allowed beyond the ceiling. */
  readonly policy: Readonly<Record<string, unknown>>;
}

/** Packages were installed into a session. */
export interface PackagesInstalled extends InSession {
  readonly event: 'packages-installed';
  readonly via?: string;
  readonly durationMs: number;
  /** The manager, the packages as `name==version`, and whether nothing had to be built. */
  readonly policy: Readonly<Record<string, unknown>>;
}

export interface Refused {
  readonly event: 'refused';
  /** The owner, or `unknown` if the caller is not authenticated. */
  readonly owner: string;
  readonly via?: string;
  readonly session?: string;
  /** The session id that the caller gave, if no session was found. */
  readonly id?: string;
  readonly execution?: string;
  readonly code?: CodeHash;
  readonly refusal: ErrorCode;
}

export interface TokenChanged {
  readonly event: 'token-created' | 'token-revoked';
  readonly owner: string;
  readonly via: string;
  readonly policy: Readonly<Record<string, unknown>>;
}

export interface CodeHash {
  readonly sha256: string;
  readonly sizeBytes: number;
}

export function createFeed(): Feed {
  const readers = new Set<(event: FeedEvent) => void>();
  return {
    emit: (event) => {
      for (const reader of readers) reader(event);
    },
    subscribe: (reader) => {
      readers.add(reader);
      return () => readers.delete(reader);
    },
  };
}
