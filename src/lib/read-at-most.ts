import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** Larger than the `status` and `stat` of any process. */
const MOST_BYTES = 65_536;

/**
 * Reads the beginning of a file whose size another user controls. SECURITY: `readFile` reads all of it. A program can
 * make its `/proc/<pid>/cmdline` hundreds of megabytes long (PR_SET_MM_MAP) without using the memory, and Node aborts
 * when it reads that.
 */
export async function readAtMost(path: string, mostBytes: number = MOST_BYTES): Promise<Buffer> {
  const handle = await open(path);
  try {
    const buffer = Buffer.allocUnsafe(mostBytes);
    let size = 0;
    // Files of /proc are read in pieces.
    for (let read = -1; read !== 0 && size < mostBytes; size += read)
      read = (await handle.read(buffer, size, mostBytes - size, null)).bytesRead;
    return buffer.subarray(0, size);
  } finally {
    await handle.close();
  }
}

/** The synchronous version. */
export function readAtMostSync(path: string, mostBytes: number = MOST_BYTES): Buffer {
  const descriptor = openSync(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(mostBytes);
    let size = 0;
    for (let read = -1; read !== 0 && size < mostBytes; size += read)
      read = readSync(descriptor, buffer, size, mostBytes - size, null);
    return buffer.subarray(0, size);
  } finally {
    closeSync(descriptor);
  }
}
