import { mkdir, readdir, rm } from 'node:fs/promises';
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

export async function holdServerLock(folder: string, serverId: string): Promise<ServerLock> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, serverId + SUFFIX);
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
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
    socket.once('error', () => resolve(false));
  });
}

/** Ids of servers that left a lock or a folder here and no longer live. A server holds its lock before it makes its folder. */
export async function deadServers(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const ids = [...new Set(names.map((name) => (name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name)))];
  const alive = await Promise.all(ids.map((id) => isServerAlive(folder, id)));
  return ids.filter((_, index) => !alive[index]);
}

export async function forgetServer(folder: string, serverId: string): Promise<void> {
  await rm(join(folder, serverId + SUFFIX), { force: true });
}
