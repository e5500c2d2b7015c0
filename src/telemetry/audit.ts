import type { ErrorCode } from '../errors/codes.ts';

/**
 * One decision or deed, as the audit log keeps it: who, what, under which policy and isolation, with which end. SECURITY: it has no place for code,
 * output, contents of files or tokens; what identifies a piece of code is its hash.
 */
export interface AuditEntry {
  readonly event:
    | 'session-opened'
    | 'session-closed'
    | 'execution-began'
    | 'execution-ended'
    | 'file-written'
    | 'file-read'
    | 'file-removed'
    | 'refused'
    | 'token-created'
    | 'token-revoked';
  readonly owner: string;
  /** The tool or route that it came through. */
  readonly via?: string;
  readonly session?: string;
  readonly execution?: string;
  readonly isolation?: { readonly driver: string; readonly level: number; readonly shape: string };
  /** Limits and permissions in force. */
  readonly policy?: Readonly<Record<string, unknown>>;
  readonly code?: { readonly sha256: string; readonly sizeBytes: number };
  /** Below the workspace. */
  readonly path?: string;
  readonly sizeBytes?: number;
  /** The kind of an outcome, or why a session was closed. */
  readonly outcome?: string;
  readonly durationMs?: number;
  /** Why not: the code of the error. */
  readonly refusal?: ErrorCode;
}

/** Where entries go. Called by whoever decides; never throws and never makes its caller wait, whatever the disk does. */
export interface AuditSink {
  record(entry: AuditEntry): void;
}

export const silentAudit: AuditSink = { record: () => {} };
