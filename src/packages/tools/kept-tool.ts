import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { newId } from '../../lib/ids.ts';
import { makeOwnFolder, requireTrusted } from '../../lib/own-folder.ts';

/** A program for builders, as a tree with the form of a layer. */
export interface Tool {
  readonly name: string;
  readonly tree: string;
}

/**
 * The tool of this name in the store; `fill` makes its tree if it is not there. It appears as a whole. Two servers may make the same one at once, and the first
 * counts.
 */
export async function keepTool(root: string, name: string, fill: (tree: string) => Promise<void>): Promise<Tool> {
  const tree = join(root, 'tools', name);
  // SECURITY: builders run what is there.
  requireTrusted(tree);
  if (existsSync(tree)) return { name, tree };
  makeOwnFolder(root, 0o700);
  makeOwnFolder(dirname(tree), 0o700);
  const draft = join(root, 'tools', newId('making'));
  makeOwnFolder(draft, 0o755);
  try {
    await fill(draft);
    await rename(draft, tree).catch((error: unknown) => {
      if (!existsSync(tree)) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return { name, tree };
}
