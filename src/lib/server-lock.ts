import { chmod, readdir, rename, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

/**
 * Says that a server lives, in a way that ends with it however it ends: a listening socket. A file with a pid in it outlives a
 * SIGKILL and may come to name somebody else.
 */
export interface ServerLock {
  release(): Promise<void>;
}

const SUFFIX = '.lock';
const LOCK_NAME = /\.lock$/;
const SERVER_ID = /^[0-9a-f]{12}$/;

/** `folder` is there, and this user's own (`openRunFolder`). */
export async function holdServerLock(folder: string, serverId: string): Promise<ServerLock> {
  const path = join(folder, serverId + SUFFIX);
  // Whoever opens a server installs what ends it right after the call: nothing may be there to be left before that.
  await undefined;
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // Listening before it has its name: one that has the name and does not answer is taken for dead.
    server.listen(`${path}.new`, resolve);
  });
  // SECURITY: under a loose umask other local users could connect, and keep a server busy.
  await chmod(`${path}.new`, 0o600);
  await rename(`${path}.new`, path);
  server.unref();
  return {
    release: async () => {
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await rm(path, { force: true });
    },
  };
}

export async function isServerAlive(folder: string, serverId: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(join(folder, serverId + SUFFIX));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    // Only these two say that nobody listens. A host out of descriptors, or a full queue, must not make a living server a dead one.
    socket.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code !== 'ENOENT' && error.code !== 'ECONNREFUSED'),
    );
  });
}

/** Ids of servers that no longer live and left a lock here, or something under their id here or in `others`. */
export async function deadServers(folder: string, others: readonly string[] = []): Promise<string[]> {
  const names = await Promise.all([folder, ...others].map((place) => readdir(place).catch(() => [])));
  const ids = [...new Set(names.flat().map((name) => name.replace(LOCK_NAME, '')))].filter((id) => SERVER_ID.test(id));
  const alive = await Promise.all(ids.map((id) => isServerAlive(folder, id)));
  return ids.filter((_, index) => !alive[index]);
}

export async function forgetServer(folder: string, serverId: string): Promise<void> {
  await rm(join(folder, serverId + SUFFIX), { force: true });
}
