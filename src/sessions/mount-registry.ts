import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { identityOf } from '../lib/held-folder.ts';
import { newId } from '../lib/ids.ts';
import { makeOwnFolder } from '../lib/own-folder.ts';
import type { Host } from '../sandbox/host.ts';
import { mountDenied } from '../sandbox/mount-denied.ts';
import type { Mount } from '../sandbox/spec.ts';

/**
 * The folders that live sessions have mounted, in all servers that share a run folder, and in sessions that outlive their server.
 *
 * SECURITY: code in a sandbox can exchange whatever lies below a folder that it can write to, for a link to anywhere. So nothing that lies strictly below such
 * a folder is mounted into another session, before or after. Entries end with their session, and count no more when their server is gone.
 */
export interface MountRegistry {
  /** Enters the mounts of a session, unless they and those of another would lie in each other that way: `mount_denied`, with nothing entered. */
  claim(mounts: readonly Mount[]): Promise<Release>;
  /** Enters mounts that exist already, of a session that is taken over. */
  enter(mounts: readonly Mount[]): Promise<Release>;
}

export type Release = () => Promise<void>;
export type RegisteredMount = Pick<Mount, 'source' | 'readOnly' | 'identity'>;

export interface RegistryOptions {
  readonly host: Pick<Host, 'runDir' | 'serverId' | 'isServerAlive'>;
  /** Mounts of sessions that outlive their server. */
  readonly left: () => Promise<readonly Mount[]>;
}

const FOLDER = 'mounts';
const SERVER_ID = /^[0-9a-f]{12}$/;
const ENTRY = /\.json$/;

export function createMountRegistry({ host, left }: RegistryOptions): MountRegistry {
  const { runDir, serverId, isServerAlive } = host;

  async function enter(mounts: readonly Mount[]): Promise<{ name: string; release: Release }> {
    const name = `${newId('m')}.json`;
    if (mounts.length === 0) return { name, release: async () => {} };
    const path = join(runDir, FOLDER, name);
    makeOwnFolder(dirname(path), 0o700);
    // Whole or not there at all, for whoever reads it meanwhile.
    await writeFile(`${path}.new`, JSON.stringify(mounts.map(registered)), { mode: 0o600 });
    await rename(`${path}.new`, path);
    return { name, release: () => rm(path, { force: true }) };
  }

  async function others(own: string): Promise<RegisteredMount[]> {
    const found: RegisteredMount[] = [...(await left())];
    for (const server of (await namesIn(dirname(runDir))).filter((name) => SERVER_ID.test(name))) {
      const folder = join(dirname(runDir), server, FOLDER);
      const entries = (await namesIn(folder)).filter((name) => ENTRY.test(name) && name !== own);
      if (entries.length === 0 || !(server === serverId || (await isServerAlive(server)))) continue;
      for (const entry of entries) found.push(...(await readEntry(join(folder, entry))));
    }
    return found;
  }

  return {
    enter: async (mounts) => (await enter(mounts)).release,
    claim: async (mounts) => {
      // Entered first and compared then: of two at once, in whatever servers, at least one sees the other.
      const { name, release } = await enter(mounts);
      try {
        if (mounts.length > 0) await requireApart(mounts, await others(name));
        return release;
      } catch (error) {
        await release();
        throw error;
      }
    },
  };
}

async function requireApart(mounts: readonly Mount[], others: readonly RegisteredMount[]): Promise<void> {
  const writable = (all: readonly RegisteredMount[]) => all.filter(({ readOnly }) => !readOnly);
  for (const mount of mounts) {
    if (await liesBelow(mount, writable(others)))
      throw mountDenied(
        `${mount.source}: lies in a folder that another session can write to, and could be exchanged from there`,
        'Close that session first, mount the same folder as it does, or copy what is needed to another place.',
      );
  }
  for (const other of others) {
    const outer = await liesBelow(other, writable(mounts));
    if (outer !== undefined)
      throw mountDenied(
        `${outer.source}: holds a folder that another session has mounted, and that could be exchanged from this one`,
        'Mount it read-only, close that session first, or mount a folder beside it.',
      );
  }
}

/** The one of `outers` that lies strictly above. By identity: one folder may have several paths, and may have been moved since. */
async function liesBelow(
  { source }: RegisteredMount,
  outers: readonly RegisteredMount[],
): Promise<RegisteredMount | undefined> {
  if (outers.length === 0) return undefined;
  const above = await keysAbove(source);
  return outers.find(({ identity }) => above.has(keyOf(identity)));
}

async function keysAbove(path: string): Promise<Set<string>> {
  const keys = new Set<string>();
  for (let folder = path; folder !== dirname(folder); ) {
    folder = dirname(folder);
    const found = await stat(folder, { bigint: true }).catch(() => undefined);
    if (found !== undefined) keys.add(keyOf(identityOf(found)));
  }
  return keys;
}

function keyOf({ device, inode }: RegisteredMount['identity']): string {
  return `${device}:${inode}`;
}

function registered({ source, readOnly, identity }: Mount): RegisteredMount {
  return { source, readOnly, identity };
}

/** What is gone meanwhile is no entry. What cannot be read is an error: it may be one that counts. */
async function readEntry(path: string): Promise<RegisteredMount[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '[]';
    throw error;
  });
  return JSON.parse(text) as RegisteredMount[];
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
}
