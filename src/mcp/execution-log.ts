import { open } from 'node:fs/promises';
import type { ManagedExecution } from '../directory/directory.ts';
import { wholeCharacters } from '../lib/whole-characters.ts';

export interface LogPiece {
  readonly offset: number;
  readonly text: string;
  readonly next_offset?: number;
  readonly size_bytes: number;
}

/** A chunk of the output of an execution: from its log on disk if there is one, otherwise from the kept parts of both streams. */
export async function readLog(
  execution: ManagedExecution,
  range: { offset: number; length: number },
): Promise<LogPiece> {
  const path = execution.state() === 'ended' ? await logPathOf(execution) : undefined;
  const kept = () => pieceOf(Buffer.from(keptText(execution)), range);
  if (path === undefined) return kept();
  return pieceOfFile(path, range).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return kept(); // the logs of a session are bounded together, and the oldest go first
    throw error;
  });
}

/** The path of the log. It is a path of the host and is never shown. */
async function logPathOf(execution: ManagedExecution): Promise<string | undefined> {
  const result = await execution.result.catch(() => undefined);
  return result?.truncation?.logPath;
}

function keptText(execution: ManagedExecution): string {
  const { stdout, stderr } = execution.partial();
  return stderr === '' ? stdout : `${stdout}${stdout === '' || stdout.endsWith('\n') ? '' : '\n'}${stderr}`;
}

async function pieceOfFile(path: string, { offset, length }: { offset: number; length: number }): Promise<LogPiece> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.max(0, Math.min(length, size - offset)));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    return asPiece(buffer.subarray(0, bytesRead), offset, size);
  } finally {
    await file.close();
  }
}

function pieceOf(all: Buffer, { offset, length }: { offset: number; length: number }): LogPiece {
  return asPiece(all.subarray(offset, offset + length), offset, all.length);
}

/** A chunk that ends at a character boundary if more follows. */
function asPiece(bytes: Buffer, offset: number, size: number): LogPiece {
  const end = offset + bytes.length < size ? wholeCharacters(bytes) : bytes.length;
  const next = offset + end;
  return {
    offset,
    text: bytes.subarray(0, end).toString('utf8'),
    ...(next < size && end > 0 ? { next_offset: next } : {}),
    size_bytes: size,
  };
}
