import { createWriteStream, type WriteStream } from 'node:fs';
import { dirname } from 'node:path';
import { type Deferred, deferred } from './deferred.ts';
import { createGatheredBytes } from './gathered-bytes.ts';
import { ownBytes } from './own-bytes.ts';
import { makeOwnFolder } from './own-folder.ts';

/** A log on disk that starts when the output exceeds the memory buffer, and stops growing at a limit. */
export interface Spool {
  /** Returns a promise if the disk is behind (backpressure); it resolves when more may be pushed. */
  push(chunk: Buffer): void | Promise<void>;
  /** The path of the log file, once it exists. */
  path(): string | undefined;
  droppedBytes(): number;
  close(): Promise<void>;
}

export function createSpool(path: string, options: { beginAtBytes: number; limitBytes: number }): Spool {
  const early = createGatheredBytes();
  let seenBytes = 0;
  let writtenBytes = 0;
  let failed = false;
  let stream: WriteStream | undefined;
  let opening: Promise<void> | undefined;
  let closing: Promise<void> | undefined;
  let behind: Deferred<void> | undefined;

  async function begin(): Promise<void> {
    try {
      makeOwnFolder(dirname(path), 0o700);
      stream = createWriteStream(path, { mode: 0o600 }).on('drain', catchUp).on('error', fail);
      for (const chunk of early.take()) append(chunk);
    } catch {
      fail();
      early.take();
    }
  }

  /** If the host's disk is full, the log ends; the execution continues. */
  function fail(): void {
    failed = true;
    writtenBytes = stream?.bytesWritten ?? 0;
    catchUp();
  }

  function catchUp(): void {
    behind?.resolve();
    behind = undefined;
  }

  async function end(): Promise<void> {
    await opening;
    const file = stream;
    if (file !== undefined && !file.closed) await new Promise<void>((resolve) => file.once('close', resolve).end());
    early.take();
  }

  function append(chunk: Buffer): void | Promise<void> {
    const part = chunk.subarray(0, Math.max(0, options.limitBytes - writtenBytes));
    if (part.length === 0 || failed || stream === undefined) return;
    writtenBytes += part.length;
    if (stream.write(ownBytes(part))) return;
    behind ??= deferred<void>();
    return behind.promise;
  }

  return {
    push(chunk) {
      if (chunk.length === 0) return;
      seenBytes += chunk.length;
      if (stream !== undefined || failed) return append(chunk);
      early.push(chunk);
      if (seenBytes <= options.beginAtBytes) return;
      opening ??= begin();
      return opening;
    },
    path: () => (stream === undefined ? undefined : path),
    droppedBytes: () => (opening === undefined ? 0 : seenBytes - writtenBytes),
    close() {
      closing ??= end();
      return closing;
    },
  };
}
