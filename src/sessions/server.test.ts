import { mkdir, mkdtemp, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { identityOf } from '../lib/held-folder.ts';
import { DEFAULT_LIMITS, type Mount } from '../sandbox/spec.ts';
import { createFileRegistry } from './file-registry.ts';
import type { Registry } from './registry.ts';
import { becomeServer, type Server } from './server.ts';
import { ownFacts } from './server-facts.ts';

let folder: string;
let server: Server;

const another = (run = 'run') => {
  const folders = { dataDir: join(folder, 'data'), runRoot: join(folder, run) };
  return becomeServer(folders, createFileRegistry(folders));
};

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'hc-server-')));
  await mkdir(join(folder, 'project/sub'), { recursive: true });
  server = await another();
});

afterEach(async () => {
  await server.release();
  await rm(folder, { recursive: true, force: true });
});

test('mounts of a session that outlived its server count for the next server', async () => {
  const [project, sub] = [await mountOf('project', false), await mountOf('project/sub', true)];
  const gone = await another();
  await gone.records.write({
    ...{ uniqueId: 's-0a1b', id: 'lab', owner: 'ada', driver: 'docker' },
    spec: { id: 's-0a1b', owner: 'ada', limits: DEFAULT_LIMITS, mounts: [project], preloads: [], environment: {} },
    ...{ openedAt: Date.now(), idleMs: 60_000, maxAgeMs: 600_000 },
  });
  await gone.release();
  await expect(server.mounts.claim([sub])).rejects.toMatchObject({ code: 'mount_denied' });
  const [left] = await server.records.all();
  await server.records.claim(left!);
  await server.records.remove('s-0a1b');
  await (await server.mounts.claim([sub]))();
});

test('mounts of another server count as long as it lives', async () => {
  const [project, sub] = [await mountOf('project', false), await mountOf('project/sub', true)];
  const other = await another();
  await other.mounts.claim([project]);
  await expect(server.mounts.claim([sub])).rejects.toMatchObject({ code: 'mount_denied' });
  await other.release();
  await (await server.mounts.claim([sub]))();
});

test('servers with different run folders know each other, and clean up after each other', async () => {
  const other = await another('other-run');
  const { serverId } = other.host;
  expect(await server.host.isServerAlive(serverId)).toBe(true);
  expect(await other.host.isServerAlive(server.host.serverId)).toBe(true);
  await server.clearAfterDead();
  expect(await readdir(join(folder, 'other-run'))).toEqual([serverId, `${serverId}.lock`]);

  const [project, sub] = [await mountOf('project', false), await mountOf('project/sub', true)];
  await other.mounts.claim([project]);
  await expect(server.mounts.claim([sub])).rejects.toMatchObject({ code: 'mount_denied' });
  await other.release();
  expect(await server.host.isServerAlive(serverId)).toBe(false);
  await (await server.mounts.claim([sub]))();
  expect(await readdir(join(folder, 'other-run'))).toEqual([]);
});

test('leftovers of a dead server in its own run folder are removed', async () => {
  const dead = '0123456789ab';
  await mkdir(join(folder, 'other-run', dead, 'jails'), { recursive: true });
  await mkdir(join(folder, 'data/mounts', dead), { recursive: true });
  await writeFile(join(folder, 'other-run', `${dead}.lock`), '');
  await writeFile(join(folder, 'data/servers', dead), join(folder, 'other-run'));
  expect(await server.host.isServerAlive(dead)).toBe(false);
  await server.clearAfterDead();
  expect(await readdir(join(folder, 'other-run'))).toEqual([]);
  expect(await readdir(join(folder, 'data/servers'))).toEqual([server.host.serverId]);
  expect(await readdir(join(folder, 'data/mounts'))).toEqual([]);
});

test('layers of dead servers and of sandboxes that no record names are removed, those of others are kept', async () => {
  const layers = join(folder, 'data/layers');
  const record = (id: string) => ({
    ...{ uniqueId: id, id: 'lab', owner: 'ada', driver: 'docker' as const },
    spec: { id, owner: 'ada', limits: DEFAULT_LIMITS, mounts: [], preloads: [], environment: {} },
    ...{ openedAt: Date.now(), idleMs: 60_000, maxAgeMs: 600_000 },
  });
  await server.records.write(record('s-0a1b'));
  for (const name of ['0123456789ab/s-1/0001', `${server.host.serverId}/s-2`, 'kept/s-0a1b/0001', 'kept/s-0dead']) {
    await mkdir(join(layers, name), { recursive: true });
  }
  await server.clearAfterDead();
  expect((await readdir(layers)).sort()).toEqual([server.host.serverId, 'kept'].sort());
  expect(await readdir(join(layers, 'kept'))).toEqual(['s-0a1b']);
  await server.release();
  expect(await readdir(layers)).toEqual(['kept']);
  server = await another();
});

test('a server answers its drivers from the given registry, and leaves it when it ends', async () => {
  const folders = { dataDir: join(folder, 'data'), runRoot: join(folder, 'run') };
  const files = createFileRegistry(folders);
  const leases = new Set(['elsewhere']);
  const cluster: Registry = {
    isServerAlive: async (serverId) => leases.has(serverId),
    servers: files.servers,
    records: files.records,
    join: async (serverId, facts) => {
      const membership = await files.join(serverId, facts);
      leases.add(serverId);
      const leave = async () => {
        leases.delete(serverId);
        await membership.leave();
      };
      return { ...membership, leave };
    },
  };
  const { host, release } = await becomeServer(folders, cluster);
  expect(await host.isServerAlive('elsewhere')).toBe(true);
  expect(await host.isServerAlive(host.serverId)).toBe(true);
  await release();
  expect([...leases]).toEqual(['elsewhere']);
  expect(await host.isServerAlive(host.serverId)).toBe(false);
});

async function mountOf(name: string, readOnly: boolean): Promise<Mount> {
  const source = join(folder, name);
  return { source, target: '/data', readOnly, identity: identityOf(await stat(source, { bigint: true })) };
}

test('a live server says what it does, and a dead one is not listed', async () => {
  const folders = { dataDir: join(folder, 'alone'), runRoot: join(folder, 'run') };
  const registry = createFileRegistry(folders);
  let sessions = 0;
  const server = await becomeServer(folders, registry, () => ownFacts(sessions, { command: 'serve', url: 'http://x' }));
  sessions = 2;
  expect(await registry.servers()).toEqual([
    expect.objectContaining({ pid: process.pid, sessions: 2, command: 'serve', url: 'http://x' }),
  ]);
  expect(await registry.isServerAlive(server.host.serverId)).toBe(true);
  await server.release();
  expect(await registry.servers()).toEqual([]);
});
