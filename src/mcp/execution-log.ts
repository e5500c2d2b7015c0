import { open } from 'node:fs/promises';
import type { ManagedExecution } from '../directory/directory.ts';
import { wholeCharacters } from '../lib/whole-characters.ts';

export interface LogPiece {
  readonly offset: number;
  readonly text: string;
  readonly next_offset?: number;
  readonly size_bytes: number;
}

/**
 * A chunk of the output of an execution: from its log on disk if there is one, otherwise from the kept parts of both
 * streams.
 */
export async function readLog(execution: ManagedExecution, range: LogRange): Promise<LogPiece> {
  return asPiece(await readLogBytes(execution, range));
}

export interface LogRange {
  readonly offset: number;
  readonly length: number;
}

/** A chunk that is not decoded yet. */
export interface LogBytes {
  readonly offset: number;
  readonly bytes: Buffer;
  /** The size of the whole log. */
  readonly sizeBytes: number;
}

export async function readLogBytes(execution: ManagedExecution, range: LogRange): Promise<LogBytes> {
  const path = execution.state() === 'ended' ? await logPathOf(execution) : undefined;
  const kept = () => bytesOf(Buffer.from(keptText(execution)), range);
  if (path === undefined) return kept();
  return bytesOfFile(path, range).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return kept(); // the log was evicted: the logs of a session have a common limit
    throw error;
  });
}

/** The path of the log. SECURITY: it is a path of the host and is never shown. */
async function logPathOf(execution: ManagedExecution): Promise<string | undefined> {
  const result = await execution.result.catch(() => undefined);
  return result?.truncation?.logPath;
}

function keptText(execution: ManagedExecution): string {
  const { stdout, stderr } = execution.partial();
  return stderr === '' ? stdout : `${stdout}${stdout === '' || stdout.endsWith('\n') ? '' : '\n'}${stderr}`;
}

async function bytesOfFile(path: string, { offset, length }: LogRange): Promise<LogBytes> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.max(0, Math.min(length, size - offset)));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    return { offset, bytes: buffer.subarray(0, bytesRead), sizeBytes: size };
  } finally {
    await file.close();
  }
}

function bytesOf(all: Buffer, { offset, length }: LogRange): LogBytes {
  return { offset, bytes: all.subarray(offset, offset + length), sizeBytes: all.length };
}

/** Decodes a chunk. It ends at a character boundary if more follows. */
export function asPiece({ offset, bytes, sizeBytes }: LogBytes): LogPiece {
  const end = offset + bytes.length < sizeBytes ? wholeCharacters(bytes) : bytes.length;
  const next = offset + end;
  return {
    offset,
    text: bytes.subarray(0, end).toString('utf8'),
    ...(next < sizeBytes && end > 0 ? { next_offset: next } : {}),
    size_bytes: sizeBytes,
  };
}
