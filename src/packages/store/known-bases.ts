import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../../lib/ids.ts';
import { makeOwnFolder, requireTrusted } from '../../lib/own-folder.ts';
import { contentKey } from '../content-key.ts';

/** Descriptions of bases, by an identity of their files: a base that is known need not be described again in a builder. */
export interface KnownBases {
  find(identity: string): Promise<string | undefined>;
  keep(identity: string, description: string): Promise<void>;
}

export function createKnownBases(root: string): KnownBases {
  const folder = join(root, 'bases');
  const pathOf = (identity: string) => join(folder, `${contentKey(identity)}.json`);
  return {
    find: async (identity) => {
      const path = pathOf(identity);
      requireTrusted(path);
      return readFile(path, 'utf8').catch(() => undefined);
    },
    keep: async (identity, description) => {
      makeOwnFolder(root, 0o700);
      makeOwnFolder(folder, 0o700);
      const draft = join(folder, newId('new'));
      await writeFile(draft, description, { mode: 0o600 });
      await rename(draft, pathOf(identity));
    },
  };
}
