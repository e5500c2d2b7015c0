import { rename, rm, stat } from 'node:fs/promises';
import { exclusively } from '../lib/exclusive.ts';

export interface Rotation {
  /** What is about to be added. */
  readonly newBytes: number;
  readonly fileBytes: number;
  /** Kept in all, the current one included. */
  readonly files: number;
}

/** Puts a file aside when it is full: `x.jsonl` becomes `x.1.jsonl`, and so on; the oldest goes. One process at a time, for several may share it. */
export async function rotate(path: string, { newBytes, fileBytes, files }: Rotation): Promise<void> {
  const isFull = async () => {
    const size = await sizeOf(path);
    return size > 0 && size + newBytes > fileBytes;
  };
  if (!(await isFull())) return;
  await exclusively(`${path}.lock`, async () => {
    if (!(await isFull())) return; // another one did it meanwhile
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
