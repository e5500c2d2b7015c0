import { createWriteStream, type WriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A log on disk that begins only when there is more than fits in memory, and ends growing at a limit. */
export interface Spool {
  /** Resolves when more may come; at once unless the disk is behind. */
  push(chunk: Buffer): void | Promise<void>;
  /** Where it is, once it has begun. */
  path(): string | undefined;
  droppedBytes(): number;
  close(): Promise<void>;
}

export function createSpool(path: string, options: { beginAtBytes: number; limitBytes: number }): Spool {
  let early: Buffer[] = [];
  let seenBytes = 0;
  let writtenBytes = 0;
  let droppedBytes = 0;
  let stream: WriteStream | undefined;
  let opening: Promise<void> | undefined;

  async function begin(): Promise<void> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = createWriteStream(path, { mode: 0o600 });
    // A full disk of the host ends the log, not the execution.
    file.on('error', () => {
      droppedBytes += seenBytes - writtenBytes;
      writtenBytes = options.limitBytes;
    });
    stream = file;
    for (const chunk of early) append(chunk);
    early = [];
  }

  function append(chunk: Buffer): void | Promise<void> {
    const part = chunk.subarray(0, Math.max(0, options.limitBytes - writtenBytes));
    droppedBytes += chunk.length - part.length;
    if (part.length === 0 || stream === undefined) return;
    writtenBytes += part.length;
    if (stream.write(part) || stream.destroyed) return;
    const file = stream;
    return new Promise((resolve) => {
      file.once('drain', resolve).once('error', () => resolve());
    });
  }

  return {
    push(chunk) {
      seenBytes += chunk.length;
      if (stream !== undefined) return append(chunk);
      early.push(Buffer.from(chunk));
      if (seenBytes <= options.beginAtBytes) return;
      opening ??= begin();
      return opening;
    },
    path: () => (opening === undefined ? undefined : path),
    droppedBytes: () => droppedBytes,
    async close() {
      await opening;
      const file = stream;
      if (file !== undefined && !file.destroyed) await new Promise<void>((resolve) => file.end(() => resolve()));
      early = [];
    },
  };
}
