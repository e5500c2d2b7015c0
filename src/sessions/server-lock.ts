import { readdirSync, readFileSync } from 'node:fs';
import { chmod, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { makeOwnFolder, requireTrusted } from '../lib/own-folder.ts';
import { askForFacts, type ServerFacts } from './server-facts.ts';

/**
 * A liveness lock: a listening socket, which ends with its process however that ends. A pid file would outlive a
 * SIGKILL, and its pid could be reused.
 */
export interface ServerLock {
  release(): Promise<void>;
}

/** The folders in which servers of an installation find each other. */
export interface ServerFolders {
  /**
   * The data folder. It has a file for each server with the path of its run folder: servers started with different
   * environments share only this folder.
   */
  readonly dataDir: string;
  /** The run folder of the caller. It exists and belongs to this user (`openRunFolder`). */
  readonly runRoot: string;
}

const SUFFIX = '.lock';
const LOCK_NAME = /\.lock$/;
const SERVER_ID = /^[0-9a-f]{12}$/;

/** Answers each connection with the facts about the server, for `hotcell status`. */
export async function holdServerLock(
  folders: ServerFolders,
  serverId: string,
  facts: () => ServerFacts,
): Promise<ServerLock> {
  const path = join(folders.runRoot, serverId + SUFFIX);
  // The caller installs its cleanup right after this call. Before that, nothing may exist that needs cleanup.
  await undefined;
  const server = createServer((socket) => {
    socket.on('error', () => {}); // who only asks whether it is alive leaves at once
    socket.end(JSON.stringify(facts()), () => socket.destroy());
  });
  await new Promise<void>((done, reject) => {
    server.once('error', reject);
    // It listens before it gets its name: a socket with that name that does not answer counts as dead.
    server.listen(`${path}.new`, done);
  });
  // SECURITY: with a loose umask other local users could connect, and keep a server busy.
  await chmod(`${path}.new`, 0o600);
  await rename(`${path}.new`, path);
  await writeRunFolder(folders, serverId);
  server.unref();
  return {
    release: async () => {
      await new Promise<void>((done) => server.close(() => done()));
      await forgetServer(folders, serverId);
    },
  };
}

export async function isServerAlive(folders: ServerFolders, serverId: string): Promise<boolean> {
  const runFolder = runFolderOf(folders, serverId);
  if (runFolder === undefined) return false;
  return new Promise((done) => {
    const socket = connect(join(runFolder, serverId + SUFFIX));
    socket.once('connect', () => {
      socket.destroy();
      done(true);
    });
    // Only these two errors mean that no process listens. If the host is out of descriptors, or the queue is full, the
    // server still counts as alive.
    socket.once('error', (error: NodeJS.ErrnoException) =>
      done(error.code !== 'ENOENT' && error.code !== 'ECONNREFUSED'),
    );
  });
}

/** The facts about all live servers of the installation. A server that does not answer is left out. */
export async function liveServers(folders: ServerFolders): Promise<ServerFacts[]> {
  const asked = serversIn(folders).map(async (id) => {
    const runFolder = runFolderOf(folders, id);
    return runFolder === undefined ? undefined : askForFacts(join(runFolder, id + SUFFIX));
  });
  return (await Promise.all(asked)).filter((facts) => facts !== undefined);
}

/** Paths of the locks of live servers that do not answer in time. */
export async function silentServers(folders: ServerFolders): Promise<string[]> {
  const asked = serversIn(folders).map(async (id) => {
    const runFolder = runFolderOf(folders, id);
    if (runFolder === undefined) return undefined;
    const path = join(runFolder, id + SUFFIX);
    if ((await askForFacts(path)) !== undefined) return undefined;
    return (await isServerAlive(folders, id)) ? path : undefined;
  });
  return (await Promise.all(asked)).filter((path) => path !== undefined);
}

/** Ids of dead servers with leftovers: a lock, or something under their id in the run folder or in `others`. */
export async function deadServers(folders: ServerFolders, others: readonly string[] = []): Promise<string[]> {
  const places = [folders.runRoot, serversFolder(folders), ...others];
  const names = await Promise.all(places.map((place) => readdir(place).catch(() => [])));
  const ids = [...new Set(names.flat().map((name) => name.replace(LOCK_NAME, '')))].filter((id) => SERVER_ID.test(id));
  const alive = await Promise.all(ids.map((id) => isServerAlive(folders, id)));
  return ids.filter((_, index) => !alive[index]);
}

/** Removes a dead server's run folder and lock. */
export async function forgetServer(folders: ServerFolders, serverId: string): Promise<void> {
  const runFolder = runFolderOf(folders, serverId);
  if (runFolder !== undefined) {
    await rm(join(runFolder, serverId), { recursive: true, force: true });
    await rm(join(runFolder, serverId + SUFFIX), { force: true });
  }
  await rm(join(serversFolder(folders), serverId), { force: true });
}

/** The run folders of all live servers of the installation, and of those with leftovers. */
export function runFoldersInUse(folders: ServerFolders): string[] {
  const named = serversIn(folders).flatMap((id) => runFolderOf(folders, id) ?? []);
  return [...new Set([folders.runRoot, ...named])];
}

function serversFolder({ dataDir }: ServerFolders): string {
  return join(dataDir, 'servers');
}

async function writeRunFolder(folders: ServerFolders, serverId: string): Promise<void> {
  const folder = serversFolder(folders);
  makeOwnFolder(folder, 0o700);
  const draft = join(folder, `${serverId}.new`);
  await writeFile(draft, resolve(folders.runRoot), { mode: 0o600 });
  await rename(draft, join(folder, serverId));
}

/**
 * Undefined if the folder now belongs to another user, who could impersonate the server: `/tmp` is empty after a
 * reboot.
 */
function runFolderOf(folders: ServerFolders, serverId: string): string | undefined {
  const folder = namedRunFolder(folders, serverId) ?? folders.runRoot;
  try {
    requireTrusted(folder);
    return folder;
  } catch {
    return undefined;
  }
}

/** Undefined for a server that is about to write it; its socket already listens. */
function namedRunFolder(folders: ServerFolders, serverId: string): string | undefined {
  try {
    return readFileSync(join(serversFolder(folders), serverId), 'utf8') || undefined;
  } catch {
    return undefined;
  }
}

function serversIn(folders: ServerFolders): string[] {
  try {
    return readdirSync(serversFolder(folders)).filter((name) => SERVER_ID.test(name));
  } catch {
    return [];
  }
}
