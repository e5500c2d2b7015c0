import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { folderPieces } from './folder-pieces.ts';
import { occupiedBytes } from './occupied-bytes.ts';

export interface TreeSize {
  readonly files: number;
  /** Size of the files' contents. */
  readonly bytes: number;
  /** Space that files, folders and links take. */
  readonly occupiedBytes: number;
}

/** Measures what is below a folder. Links are not followed, and do not count as files. */
export async function treeSize(folder: string): Promise<TreeSize> {
  const total = { files: 0, bytes: 0, occupiedBytes: 0 };
  const folders: string[] = [];
  for await (const piece of folderPieces(folder)) {
    for (const entry of piece) {
      if (entry.isDirectory()) folders.push(entry.name);
      const size = entry.isFile() ? lstatSync(join(folder, entry.name)).size : 0;
      total.files += entry.isFile() ? 1 : 0;
      total.bytes += size;
      total.occupiedBytes += occupiedBytes(size);
    }
  }
  for (const name of folders) {
    const below = await treeSize(join(folder, name));
    total.files += below.files;
    total.bytes += below.bytes;
    total.occupiedBytes += below.occupiedBytes;
  }
  return total;
}
