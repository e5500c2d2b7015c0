import { rename, rm, stat } from 'node:fs/promises';
import { exclusively } from '../lib/exclusive.ts';

export interface Rotation {
  /** Number of bytes to be added. */
  readonly newBytes: number;
  readonly fileBytes: number;
  /** Number of files to keep, including the current one. */
  readonly files: number;
}

/**
 * Rotates a file when it is full: `x.jsonl` becomes `x.1.jsonl`, and so on; the oldest is deleted. A lock serialises
 * processes that share the file.
 */
export async function rotate(path: string, { newBytes, fileBytes, files }: Rotation): Promise<void> {
  const isFull = async () => {
    const size = await sizeOf(path);
    return size > 0 && size + newBytes > fileBytes;
  };
  if (!(await isFull())) return;
  await exclusively(`${path}.lock`, async () => {
    if (!(await isFull())) return; // another process has rotated it
    await rm(numbered(path, files - 1), { force: true });
    for (let number = files - 2; number >= 0; number -= 1) {
      await rename(numbered(path, number), numbered(path, number + 1)).catch(ignoreMissing);
    }
  });
}

function numbered(path: string, number: number): string {
  return number === 0 ? path : path.replace(/(\.[^.]+)?$/, `.${number}$1`);
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(ignoreMissing))?.size ?? 0;
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
}
