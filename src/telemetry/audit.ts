import type { ErrorCode } from '../errors/codes.ts';
import type { FeedEvent } from './feed.ts';

/**
 * One line of the audit log: who did what, under which policy and isolation, and how it ended. It is made only from an
 * event of the feed.
 */
export interface AuditEntry {
  readonly event: FeedEvent['event'];
  readonly owner: string;
  /** The tool or route that the call came through. */
  readonly via?: string;
  /** The unique id of the session. */
  readonly session?: string;
  /** The id and the name that the owner chose, when the session is opened or not found. */
  readonly id?: string;
  readonly name?: string;
  readonly execution?: string;
  readonly isolation?: { readonly driver: string; readonly level: number; readonly shape: string };
  /** Limits and permissions in force. */
  readonly policy?: Readonly<Record<string, unknown>>;
  readonly code?: { readonly sha256: string; readonly sizeBytes: number };
  /** The path, relative to the workspace. */
  readonly path?: string;
  readonly sizeBytes?: number;
  /** The kind of an outcome, why a session was closed, or why a connection was refused or ended. */
  readonly outcome?: string;
  readonly durationMs?: number;
  /** The server that a program connected to, or wanted to. */
  readonly host?: string;
  readonly port?: number;
  /** The method of a call from the sandbox, and what it tells about the call. */
  readonly method?: string;
  readonly facts?: Readonly<Record<string, string | number | boolean>>;
  /** The code of the error that the caller got. */
  readonly refusal?: ErrorCode;
}

/** The audit log as the feed uses it. Never throws and never blocks, even if the disk does. */
export interface AuditSink {
  record(entry: AuditEntry): void;
}

export function auditEntryOf(event: FeedEvent): AuditEntry {
  switch (event.event) {
    case 'session-closed': {
      const { driver: _, why, ...entry } = event;
      return { ...entry, outcome: why };
    }
    case 'session-opened':
    case 'packages-installed':
      return { ...event, durationMs: Math.round(event.durationMs) };
    case 'execution-ended': {
      const { codeBytes: _code, outputBytes: _output, ...entry } = event;
      return { ...entry, durationMs: Math.round(entry.durationMs) };
    }
    case 'call-ended': {
      const { receivedBytes, sentBytes, ...entry } = event;
      return { ...entry, durationMs: Math.round(entry.durationMs), sizeBytes: receivedBytes + sentBytes };
    }
    case 'connection-opened':
    case 'connection-refused':
    case 'connection-failed':
    case 'connection-closed': {
      const { why, durationMs, sentBytes, receivedBytes, ...entry } = event;
      return {
        ...entry,
        ...(why === undefined ? {} : { outcome: why }),
        ...(durationMs === undefined ? {} : { durationMs: Math.round(durationMs) }),
        ...(sentBytes === undefined ? {} : { sizeBytes: sentBytes + (receivedBytes ?? 0) }),
      };
    }
    default:
      return event;
  }
}
