import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

export const LARGEST_CONFIG_BYTES = 16 * 1_048_576;

/**
 * The bytes of a file; undefined where there is none. Throws, with a code, for what is no regular file or too large. SECURITY: a project may have a FIFO,
 * or a link to `/dev/zero`, in place of its configuration: opened without waiting, looked at, and then read, no further than a configuration can reach.
 */
export function readRegularFile(path: string, largestBytes = LARGEST_CONFIG_BYTES): Buffer | undefined {
  let file: number;
  try {
    // Not on Windows, which has neither FIFOs among its files nor the flag.
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
  try {
    const status = fstatSync(file);
    if (status.isDirectory()) throw failure('EISDIR', 'a folder, not a file');
    if (!status.isFile()) throw failure('ENOTREG', 'not a regular file');
    // One more than it has, so that a file that grows meanwhile is noticed.
    const bytes = Buffer.alloc(Math.min(status.size, largestBytes) + 1);
    let length = 0;
    for (;;) {
      const count = readSync(file, bytes, length, bytes.length - length, length);
      length += count;
      if (count === 0) break;
      if (length > largestBytes) throw failure('EFBIG', `larger than ${largestBytes} bytes`);
      if (length === bytes.length) throw failure('EAGAIN', 'another program changed it at the same time');
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

function failure(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}
