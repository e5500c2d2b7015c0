import { rmdirSync, unlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { folderPieces } from './folder-pieces.ts';

/**
 * Removes a tree of packages, a few entries at a time; Node's `rm` begins with all of a folder at once. Resolves if there
 * is none. Links are removed, not followed; no other user can change the tree meanwhile.
 */
export async function removeTree(folder: string): Promise<void> {
  try {
    await removeFolder(folder);
  } catch {
    await rm(folder, { recursive: true, force: true }); // no folder, or one that got entries meanwhile
  }
}

async function removeFolder(folder: string): Promise<void> {
  const folders: string[] = [];
  for await (const piece of folderPieces(folder)) {
    for (const entry of piece) {
      if (entry.isDirectory()) folders.push(entry.name);
      else unlinkSync(join(folder, entry.name));
    }
  }
  for (const name of folders) await removeFolder(join(folder, name));
  rmdirSync(folder);
}
