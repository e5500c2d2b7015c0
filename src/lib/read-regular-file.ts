import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

export const LARGEST_CONFIG_BYTES = 16 * 1_048_576;

/**
 * Reads a file; undefined if it does not exist. Throws, with a code, if it is no regular file or too large. SECURITY: a
 * project may contain a FIFO, or a link to `/dev/zero`, in place of its configuration. So the file is opened without
 * blocking, checked, and read up to a limit.
 */
export function readRegularFile(path: string, largestBytes = LARGEST_CONFIG_BYTES): Buffer | undefined {
  let file: number;
  try {
    // Windows has neither FIFOs in its file system nor these flags.
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
    // One byte more than its size, to notice that the file grows.
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
