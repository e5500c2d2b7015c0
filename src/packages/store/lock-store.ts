import { readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { newId } from '../../lib/ids.ts';
import { makeOwnFolder, requireTrusted } from '../../lib/own-folder.ts';
import { ownerFolder } from './owner-folder.ts';

/** Locks by the request that they answer, for a day: the same request then gets the same versions without asking a registry. */
export interface LockStore {
  find(owner: string, request: string): Promise<string | undefined>;
  keep(owner: string, request: string, lock: string): Promise<void>;
}

export const LOCK_KEPT_MS = 24 * 3_600_000;
const MOST_LOCKS = 1000;
/** Of one owner. A lock has some kilobytes; a registry or a build script can make it megabytes. */
const MOST_BYTES = 64 * 1_048_576;

export function createLockStore({ root, clock = systemClock }: { root: string; clock?: Clock }): LockStore {
  const pathOf = (owner: string, request: string) => join(ownerFolder(root, owner).locks, `${request}.json`);

  /** The oldest go first if there are too many. */
  async function tidy(folder: string): Promise<void> {
    const names = await readdir(folder);
    const known = await Promise.all(
      names.map(async (name) => {
        const found = await stat(join(folder, name)).catch(() => undefined);
        return { name, at: found?.mtimeMs ?? 0, size: found?.size ?? 0 };
      }),
    );
    const newest = known.sort((a, b) => b.at - a.at);
    let bytes = 0;
    const old = newest.filter(({ at, size }, index) => {
      bytes += size;
      return index >= MOST_LOCKS || bytes > MOST_BYTES || clock.now() - at > LOCK_KEPT_MS;
    });
    await Promise.all(old.map(({ name }) => rm(join(folder, name), { force: true })));
  }

  return {
    async find(owner, request) {
      const path = pathOf(owner, request);
      requireTrusted(path);
      try {
        const { mtimeMs } = await stat(path);
        if (clock.now() - mtimeMs > LOCK_KEPT_MS) return undefined;
        return await readFile(path, 'utf8');
      } catch {
        return undefined;
      }
    },
    async keep(owner, request, lock) {
      const { locks } = ownerFolder(root, owner);
      makeOwnFolder(locks, 0o700);
      const draft = join(locks, newId('new'));
      await writeFile(draft, lock, { mode: 0o600 });
      await utimes(draft, clock.now() / 1000, clock.now() / 1000);
      await rename(draft, pathOf(owner, request));
      await tidy(locks);
    },
  };
}
