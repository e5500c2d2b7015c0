import { readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { newId } from '../lib/ids.ts';
import { makeOwnFolder } from '../lib/own-folder.ts';
import type { Host } from '../sandbox/host.ts';
import { mountDenied } from '../sandbox/mount-denied.ts';
import type { Mount } from '../sandbox/spec.ts';
import {
  type MountEntry,
  mountEntry,
  parseEntry,
  type RegisteredMount,
  stillReachable,
  writtenMounts,
} from './mount-entry.ts';

/**
 * The folders that live sessions have mounted, in all servers that share a run folder, and in sessions that outlive their server.
 *
 * SECURITY: code in a sandbox can exchange whatever lies below a folder that it can write to, for a link to anywhere. So nothing that lies strictly below such
 * a folder is mounted into another session, before or after. An entry ends with its session, unless another that lives has shared a writable folder with it, and
 * may have been handed its folders: then with the last of those. It counts no more when its server is gone.
 */
export interface MountRegistry {
  /** Enters the mounts of a session, unless they and those of another would lie in each other that way: `mount_denied`, with nothing entered. */
  claim(mounts: readonly Mount[]): Promise<Release>;
  /** Enters mounts that exist already, of a session that is taken over. */
  enter(mounts: readonly Mount[]): Promise<Release>;
}

/** Never rejects: what cannot be taken out counts until its server is gone. */
export type Release = () => Promise<void>;

export interface RegistryOptions {
  readonly host: Pick<Host, 'runDir' | 'serverId' | 'isServerAlive'>;
  /** Mounts of sessions that outlive their server. */
  readonly left: () => Promise<readonly (readonly Mount[])[]>;
}

interface FoundEntry extends MountEntry {
  readonly path: string;
}

const FOLDER = 'mounts';
/** Beside the folders of servers: for entries of sessions that have ended. */
const ENDED = 'ended-mounts';
const SERVER_ID = /^[0-9a-f]{12}$/;
const ENTRY = /\.json$/;

export function createMountRegistry({ host, left }: RegistryOptions): MountRegistry {
  const { runDir, serverId, isServerAlive } = host;
  const folder = join(runDir, FOLDER);
  const endedFolder = join(dirname(runDir), ENDED);
  let knownLeft = new Map<string, Promise<MountEntry>>();
  let lastEnd: Promise<void> = Promise.resolve();

  async function enter(mounts: readonly Mount[]): Promise<{ path: string; entry: MountEntry; release: Release }> {
    const path = join(folder, `${newId('m')}.json`);
    const written = await writtenMounts(mounts);
    const entry = await mountEntry(written);
    if (mounts.length === 0) return { path, entry, release: async () => {} };
    makeOwnFolder(folder, 0o700);
    // Whole or not there at all, for whoever reads it meanwhile.
    await writeFile(`${path}.new`, JSON.stringify(written), { mode: 0o600 });
    await rename(`${path}.new`, path);
    const isWritable = mounts.some(({ readOnly }) => !readOnly);
    return {
      path,
      entry,
      release: isWritable ? () => end({ ...entry, path }) : () => rm(path, { force: true }).catch(() => {}),
    };
  }

  /** Kept as long as a session that lives may hold its folders. One at a time: of two that shared a folder, the second finds the first ended. */
  function end(own: FoundEntry): Promise<void> {
    const ending = lastEnd.then(async () => {
      // Where it cannot be told what lives, it is kept, and told by the next that ends.
      const { live, ended } = await allBut(own.path).catch(() => ({ live: [own], ended: [] }));
      const kept = stillReachable(live, [...ended, own]);
      if (kept.includes(own)) await moveToEnded(own.path);
      for (const entry of [...ended, own]) if (!kept.includes(entry)) await rm(entry.path, { force: true });
      if (kept.length === 0) await rmdir(endedFolder).catch(() => {});
    });
    lastEnd = ending.catch(() => {});
    return lastEnd;
  }

  async function moveToEnded(path: string, attempts = 3): Promise<void> {
    makeOwnFolder(endedFolder, 0o700);
    await rename(path, join(endedFolder, basename(path))).catch((error: unknown) => {
      if (attempts === 1) throw error;
      return moveToEnded(path, attempts - 1); // another server has found the folder empty meanwhile, and removed it
    });
  }

  /** Each found once: whoever leaves sessions with many mounts must not make every opening look at all folders above them. */
  async function leftEntries(): Promise<MountEntry[]> {
    const found = (await left()).map((mounts) => [JSON.stringify(mounts), mounts] as const);
    const before = knownLeft;
    knownLeft = new Map(found.map(([text, mounts]) => [text, before.get(text) ?? mountEntry(mounts)]));
    return Promise.all(knownLeft.values());
  }

  async function allBut(own: string): Promise<{ live: MountEntry[]; ended: FoundEntry[] }> {
    const live: MountEntry[] = [];
    for (const server of (await namesIn(dirname(runDir))).filter((name) => SERVER_ID.test(name))) {
      const paths = (await entryPaths(join(dirname(runDir), server, FOLDER))).filter((path) => path !== own);
      // Asked before anything is read: whatever a dead server left is nobody's, and may be broken.
      if (paths.length === 0 || (server !== serverId && !(await isServerAlive(server)))) continue;
      live.push(...(await readEntries(paths, unreadable)));
    }
    live.push(...(await leftEntries()));
    // Last: an entry goes from one to the other, and may then be found in both, but not in neither.
    const remove = (path: string) => rm(path, { force: true });
    return { live, ended: await readEntries(await entryPaths(endedFolder), remove) };
  }

  return {
    enter: async (mounts) => (await enter(mounts)).release,
    claim: async (mounts) => {
      // Entered first and compared then: of two at once, in whatever servers, at least one sees the other.
      const { path, entry, release } = await enter(mounts);
      try {
        if (mounts.length > 0) {
          const { live, ended } = await allBut(path);
          requireApart(entry, [...live, ...stillReachable(live, ended)]);
        }
        return release;
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      }
    },
  };
}

function requireApart(entry: MountEntry, entries: readonly MountEntry[]): void {
  const writable = (all: readonly RegisteredMount[]) => all.filter(({ readOnly }) => !readOnly);
  const others = entries.flatMap(({ mounts }) => mounts);
  const writableOthers = writable(others);
  for (const mount of entry.mounts) {
    if (liesBelow(mount, writableOthers))
      throw mountDenied(
        `${mount.source}: lies in a folder that another session can write to, and could be exchanged from there`,
        'Close that session first, and those that shared a writable folder with it; or mount the same folder as it does, or copy what is needed to another place.',
      );
  }
  const own = writable(entry.mounts);
  for (const other of others) {
    const outer = liesBelow(other, own);
    if (outer !== undefined)
      throw mountDenied(
        `${outer.source}: holds a folder that another session has mounted, and that could be exchanged from this one`,
        'Mount it read-only, close that session first, and those that shared a writable folder with it, or mount a folder beside it.',
      );
  }
}

/** The one of `outers` that lies strictly above. */
function liesBelow({ above }: RegisteredMount, outers: readonly RegisteredMount[]): RegisteredMount | undefined {
  return outers.find(({ key }) => above.includes(key));
}

async function entryPaths(folder: string): Promise<string[]> {
  return (await namesIn(folder)).filter((name) => ENTRY.test(name)).map((name) => join(folder, name));
}

async function readEntries(paths: readonly string[], onBroken: (path: string) => Promise<void>): Promise<FoundEntry[]> {
  const found = await Promise.all(
    paths.map(async (path) => {
      const mounts = await readWritten(path);
      if (mounts === undefined) await onBroken(path);
      return { ...(await mountEntry(mounts ?? [])), path };
    }),
  );
  return found.filter(({ mounts }) => mounts.length > 0);
}

/** What is gone meanwhile is no entry. */
async function readWritten(path: string) {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '[]';
    throw error;
  });
  return parseEntry(text);
}

/** SECURITY: nobody is let in beside an entry of a live server that says nothing: it may be one that counts. */
async function unreadable(path: string): Promise<never> {
  throw mountDenied(
    `${path}: this entry in the registry of mounts cannot be read`,
    'Restart the server that the folder above it is named after, or all of this installation.',
  );
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
}
