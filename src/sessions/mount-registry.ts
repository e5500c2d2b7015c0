import { rm, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { newId } from '../lib/ids.ts';
import { makeOwnFolder } from '../lib/own-folder.ts';
import { mountDenied } from '../sandbox/mount-denied.ts';
import {
  covers,
  type MountEntry,
  mountEntry,
  type RegisteredMount,
  reachableInSteps,
  stillReachable,
  type WrittenMount,
  writableOf,
} from './mount-entry.ts';
import { entryPaths, type FoundEntry, namesIn, readEntries, unreadable, writeWhole } from './mount-files.ts';

/**
 * The folders mounted by live sessions in all servers of an installation, and by sessions that outlive their server.
 *
 * SECURITY: code in a sandbox can replace anything below a folder that it can write to by a link to anywhere. So
 * nothing strictly below such a folder is mounted into another session, before or after. An entry ends with its
 * session, unless a live session shared a folder with it that one of them could write to, and may have been handed its
 * folders: then its writable folders count until the last of those ends. An entry also ends with its server.
 */
export interface MountRegistry {
  /**
   * Registers the mounts of a session, in the form of `toWrite`. Looks up none of them, nor those of others. If they and those of another session would be nested in that way, it rejects
   * with `mount_denied` and registers nothing.
   */
  claim(mounts: readonly WrittenMount[]): Promise<Release>;
  /** Registers existing mounts of an adopted session. */
  enter(mounts: readonly WrittenMount[]): Promise<Release>;
}

/** Removes the entry. Idempotent. Never rejects: an entry that cannot be removed counts until its server is gone. */
export type Release = (how?: ReleaseOptions) => Promise<void>;

export interface ReleaseOptions {
  /** Whether its sandbox could hand open folders to another; true by default. */
  readonly mayBeHandedOn?: boolean;
}

export interface RegistryOptions {
  /** The folder of the registry, common to all servers of the installation. */
  readonly folder: string;
  readonly serverId: string;
  readonly isServerAlive: (serverId: string) => Promise<boolean>;
  /** Mounts of sessions that outlive their server. */
  readonly left: () => Promise<readonly (readonly WrittenMount[])[]>;
}

/** The folder for entries of ended sessions, beside the folders of servers. */
const ENDED = 'ended';
/**
 * The maximum number of ended entries of one server; above it `dropOne` drops one. SECURITY: every opening compares
 * with all of them, so a client that opens and closes sessions beside a live one would slow down all others. The price:
 * a session that was handed the folders of a dropped entry could exchange what is in them under a later session.
 */
const MOST_ENDED = 64;
const SERVER_ID = /^[0-9a-f]{12}$/;

export function createMountRegistry(options: RegistryOptions): MountRegistry {
  const { folder: common, serverId, isServerAlive, left } = options;
  const folder = join(common, serverId);
  const endedFolder = join(common, ENDED);
  /** Entries of sessions that ended here, oldest first. */
  let endedHere: string[] = [];
  let lastEnd: Promise<void> = Promise.resolve();
  let lastClaim: Promise<unknown> = Promise.resolve();

  async function enter(written: readonly WrittenMount[]): Promise<{ path: string; release: Release }> {
    const path = join(folder, `${newId('m')}.json`);
    if (written.length === 0) return { path, release: async () => {} };
    makeOwnFolder(folder, 0o700);
    await writeWhole(path, written);
    let ending: Promise<void> | undefined;
    const release: Release = ({ mayBeHandedOn = true } = {}) => {
      ending ??= end(path, written, mayBeHandedOn);
      return ending;
    };
    return { path, release };
  }

  /**
   * Ends an entry. It is kept while a live session may hold its folders. Serialised: of two sessions that shared a
   * folder, the second finds the first ended.
   */
  function end(path: string, written: readonly WrittenMount[], mayBeHandedOn: boolean): Promise<void> {
    const ending = lastEnd.then(async () => {
      const own: FoundEntry = { ...mountEntry(written), path: join(endedFolder, basename(path)) };
      // If the live sessions cannot be read, the entry is kept, and the next end decides.
      const { live, ended } = await allBut(path).catch(() => ({ live: [own], ended: undefined }));
      const reachable = stillReachable(live, [...(ended ?? []), ...(mayBeHandedOn ? [own] : [])]);
      const isKept = reachable.includes(own);
      if (isKept) await writeEnded(path, written);
      await rm(path, { force: true });
      const kept = reachable.filter((entry) => entry === own || !(isKept && covers(own, entry)));
      for (const entry of ended ?? []) if (!kept.includes(entry)) await rm(entry.path, { force: true });
      const keptPaths = kept.map((entry) => entry.path);
      endedHere = [...endedHere, own.path].filter((path) => ended === undefined || keptPaths.includes(path));
      if (endedHere.length > MOST_ENDED) await dropOne(reachableInSteps(live, kept));
      if (ended !== undefined && kept.length === 0) await rmdir(endedFolder).catch(() => {});
    });
    lastEnd = ending.catch(() => {});
    return lastEnd;
  }

  /**
   * Drops the oldest entry that no other depends on; an entry in the middle of a chain would take all behind it along.
   */
  async function dropOne(steps: readonly FoundEntry[][]): Promise<void> {
    const last = steps.findLast((step) => step.some(({ path }) => endedHere.includes(path))) ?? [];
    const dropped = endedHere.find((path) => last.some((entry) => entry.path === path)) ?? endedHere[0];
    endedHere = endedHere.filter((path) => path !== dropped);
    if (dropped !== undefined) await rm(dropped, { force: true });
  }

  async function writeEnded(path: string, written: readonly WrittenMount[], attempts = 3): Promise<void> {
    makeOwnFolder(endedFolder, 0o700);
    await writeWhole(join(endedFolder, basename(path)), written, `${path}.new`).catch((error: unknown) => {
      if (attempts === 1) throw error;
      return writeEnded(path, written, attempts - 1); // another server found the folder empty meanwhile and removed it
    });
  }

  /**
   * Registers first and compares then: of two concurrent claims, in any servers, at least one sees the other. SECURITY:
   * serialised within this server, so that no claim is refused because of an entry that is itself about to be refused:
   * a tenant could block the folders of others by failing openings.
   */
  async function claim(written: readonly WrittenMount[]): Promise<Release> {
    const entry = mountEntry(written);
    const { path, release } = await enter(written);
    try {
      const { live, ended } = await allBut(path);
      requireApart(entry, [...live, ...stillReachable(live, ended).map(writableOf)]);
      return release;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  async function allBut(own: string): Promise<{ live: MountEntry[]; ended: FoundEntry[] }> {
    const live: MountEntry[] = [];
    for (const server of (await namesIn(common)).filter((name) => SERVER_ID.test(name))) {
      const paths = (await entryPaths(join(common, server))).filter((path) => path !== own);
      // Liveness is checked before anything is read: entries of a dead server do not count and may be broken.
      if (paths.length === 0 || (server !== serverId && !(await isServerAlive(server)))) continue;
      live.push(...(await readEntries(paths, unreadable)));
    }
    live.push(...(await left()).map(mountEntry));
    // Ended entries are read last: an entry moves from live to ended, so it may be found twice, but never missed.
    const remove = (path: string) => rm(path, { force: true });
    return { live, ended: await readEntries(await entryPaths(endedFolder), remove) };
  }

  return {
    enter: async (mounts) => (await enter(mounts)).release,
    claim: async (written) => {
      if (written.length === 0) return (await enter(written)).release;
      const claiming = lastClaim.then(() => claim(written));
      lastClaim = claiming.catch(() => {});
      return claiming;
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
        `${mount.source}: it is inside a folder that another session can write to, which could replace it`,
        'Close that session, and all sessions that shared a writable folder with it; or mount the same folder as that session, or copy the files to another folder.',
      );
  }
  const own = writable(entry.mounts);
  for (const other of others) {
    const outer = liesBelow(other, own);
    if (outer !== undefined)
      throw mountDenied(
        `${outer.source}: it contains a folder that another session has mounted, which this session could replace`,
        'Mount it read-only; or close that session, and all sessions that shared a writable folder with it; or mount another folder.',
      );
  }
}

/** The one of `outers` that is strictly above the mount. */
function liesBelow({ above }: RegisteredMount, outers: readonly RegisteredMount[]): RegisteredMount | undefined {
  return outers.find(({ keys }) => keys.some((key) => above.includes(key)));
}
