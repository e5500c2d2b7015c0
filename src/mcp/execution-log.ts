import { open } from 'node:fs/promises';
import type { ManagedExecution } from '../directory/directory.ts';
import type { ExecutionResult } from '../execution/result.ts';
import { tracebackText } from '../execution/traceback-parts.ts';
import { wholeCharacters } from '../lib/whole-characters.ts';

export interface LogPiece {
  readonly offset: number;
  readonly text: string;
  readonly next_offset?: number;
  readonly size_bytes: number;
}

/**
 * A chunk of the log of an execution: its output, from the file on disk if there is one, otherwise from the kept parts
 * of both streams; then the exception that ended it, with its whole message.
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
  const result = execution.state() === 'ended' ? await execution.result.catch(() => undefined) : undefined;
  const output = await outputBytes(execution, result, range);
  if (result?.outcome.kind !== 'raised') return output;
  const { offset, bytes, sizeBytes } = output;
  const error = Buffer.from(`${sizeBytes === 0 ? '' : '\n'}${tracebackText(result.outcome)}\n`);
  const from = Math.max(0, offset - sizeBytes);
  const rest = error.subarray(from, from + range.length - bytes.length);
  return { offset, bytes: Buffer.concat([bytes, rest]), sizeBytes: sizeBytes + error.length };
}

/** The size of the output in the log, behind which its exception begins. */
export async function outputSize(execution: ManagedExecution): Promise<number> {
  const { sizeBytes } = await outputBytes(execution, await execution.result, { offset: 0, length: 0 });
  return sizeBytes;
}

/** SECURITY: the path of the file is one of the host and is never shown. */
async function outputBytes(
  execution: ManagedExecution,
  result: ExecutionResult | undefined,
  range: LogRange,
): Promise<LogBytes> {
  const path = result?.truncation?.logPath;
  const kept = () => bytesOf(Buffer.from(keptText(execution)), range);
  if (path === undefined) return kept();
  return bytesOfFile(path, range).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return kept(); // the log was evicted: the logs of a session have a common limit
    throw error;
  });
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
