import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeOwnFolder } from '../lib/own-folder.ts';
import type { AuditEntry, AuditSink } from './audit.ts';
import { createRepeatTally } from './repeat-tally.ts';
import { rotate } from './rotate.ts';

/**
 * The audit log on disk: one JSON object per line, in `audit.jsonl` and its predecessors `audit.1.jsonl` and on.
 * Servers with the same data folder share it.
 */
export interface AuditLog extends AuditSink {
  /** Resolves when all entries so far are on disk, or writing has failed. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface AuditLogOptions {
  readonly fileBytes: number;
  readonly files: number;
  readonly now?: () => Date;
  /** The aggregation period: refusals of one kind, and reads of one file, become one entry. */
  readonly repeatsEveryMs?: number;
  /** Callback for a write error. It is called once, and again after a write has succeeded in between. */
  readonly onFailure?: (error: unknown) => void;
}

/** Batching interval of writes. If the server is killed, entries of this period are lost. */
const GATHER_MS = 50;
const REPEATS_EVERY_MS = 60_000;
const RETRY_MS = 1_000;
const CLOSE_MS = 2_000;
const MOST_PENDING_BYTES = 4 * 1_048_576;
const LONGEST_TEXT = 300;
const LONGEST_LIST = 20;
/** SECURITY: events that a client or a program in a sandbox can cause without end. */
const TALLIED: ReadonlySet<AuditEntry['event']> = new Set([
  ...(['refused', 'file-read', 'call-ended', 'network-changed', 'packages-installed'] as const),
  ...(['connection-opened', 'connection-refused', 'connection-failed', 'connection-closed'] as const),
]);

export function createAuditLog(folder: string, options: AuditLogOptions): AuditLog {
  const { now = () => new Date(), repeatsEveryMs = REPEATS_EVERY_MS, onFailure = () => {} } = options;
  let pending: Line[] = [];
  let pendingBytes = 0;
  const repeats = createRepeatTally();
  let repeatTimer: NodeJS.Timeout | undefined;
  let dropped = 0;
  let failing = false;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let closed = false;

  function record(entry: AuditEntry): void {
    if (closed) return;
    const isTallied = TALLIED.has(entry.event);
    const shown = isTallied ? repeats.note(entry) : entry;
    if (isTallied) repeatTimer ??= setInterval(writeGathered, repeatsEveryMs).unref();
    if (shown === undefined) return;
    add(lineOf({ time: now().toISOString(), ...shown }));
    writeSoon();
  }

  function writeGathered(): void {
    gather();
    writeSoon();
    if (repeats.isEmpty()) repeatTimer = stopped(repeatTimer);
  }

  function gather(): void {
    for (const entry of repeats.drain()) add(lineOf({ time: now().toISOString(), ...entry }));
  }

  function writeSoon(): void {
    if (writing === undefined && pending.length > 0) timer ??= later(failing ? RETRY_MS : GATHER_MS);
  }

  /** Buffers an entry, or drops it above the limit: a full disk must not fill the memory. */
  function add(line: Line): void {
    if (pendingBytes + line.bytes.length > MOST_PENDING_BYTES) {
      dropped += 1;
      return;
    }
    pending.push(line);
    pendingBytes += line.bytes.length;
  }

  function later(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      timer = undefined;
      void flush();
    }, ms).unref();
  }

  function flush(): Promise<void> {
    writing ??= write().finally(() => {
      writing = undefined;
      if (!closed) writeSoon();
    });
    return writing;
  }

  async function write(): Promise<void> {
    if (dropped > 0 && pendingBytes < MOST_PENDING_BYTES / 2) {
      pending.push(lineOf({ time: now().toISOString(), event: 'entries-lost', count: dropped }));
      dropped = 0;
    }
    const lines = pending;
    if (lines.length === 0) return;
    pending = [];
    pendingBytes = 0;
    const left = await append(lines).catch((error: unknown) => {
      if (!failing) onFailure(error);
      failing = true;
      return lines;
    });
    if (left.length === 0) failing = false;
    const newer = pending;
    pending = [];
    pendingBytes = 0;
    for (const line of [...left, ...newer]) add(line);
  }

  /** Writes lines; returns those that could not be written. */
  async function append(lines: readonly Line[]): Promise<readonly Line[]> {
    makeOwnFolder(folder, 0o700);
    const path = join(folder, 'audit.jsonl');
    const bytes = Buffer.concat(lines.map((line) => line.bytes));
    await rotate(path, { newBytes: bytes.length, fileBytes: options.fileBytes, files: options.files });
    // The file is opened each time: another server may have rotated it.
    const file = await open(path, 'a', 0o600);
    try {
      const { written, error } = await writeAll(file, bytes);
      if (error === undefined) return [];
      if (!failing) onFailure(error);
      failing = true;
      return unwritten(lines, written);
    } finally {
      await file.close();
    }
  }

  return {
    record,
    flush: async () => {
      timer = stopped(timer);
      gather();
      await writing;
      await flush();
    },
    close: async () => {
      closed = true;
      timer = stopped(timer);
      repeatTimer = stopped(repeatTimer);
      gather();
      const last = (async () => {
        await writing;
        await flush();
      })();
      await Promise.race([last, sleep(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}

function stopped(timer: NodeJS.Timeout | undefined): undefined {
  clearTimeout(timer);
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<{ written: number; error?: unknown }> {
  let written = 0;
  try {
    while (written < bytes.length) written += (await file.write(bytes, written)).bytesWritten;
    return { written };
  } catch (error) {
    return { written, error };
  }
}

/**
 * The lines from the first that is not completely on disk. After a partial line the rest starts on a new line, so that
 * only the partial one is unreadable.
 */
function unwritten(lines: readonly Line[], written: number): Line[] {
  let end = 0;
  const first = lines.findIndex((line) => {
    end += line.bytes.length;
    return end > written;
  });
  const rest = lines.slice(first);
  const isTorn = written > end - rest[0]!.bytes.length;
  return isTorn ? [{ bytes: Buffer.from('\n') }, ...rest] : rest;
}

interface Line {
  readonly bytes: Buffer;
}

function lineOf(entry: object): Line {
  const short = (_: string, value: unknown) => {
    if (typeof value === 'string' && value.length > LONGEST_TEXT) return `${value.slice(0, LONGEST_TEXT)}…`;
    if (!Array.isArray(value) || value.length <= LONGEST_LIST) return value;
    return [...value.slice(0, LONGEST_LIST), `… and ${value.length - LONGEST_LIST} more`];
  };
  return { bytes: Buffer.from(`${JSON.stringify(entry, short)}\n`) };
}
