import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLayerStore, type LayerStore, removeFolder } from './layer-store.ts';
import { createLockStore, LOCK_KEPT_MS } from './lock-store.ts';
import { ownerFolder } from './owner-folder.ts';
import { listLayers, removeLayer, removeLeftovers } from './stored-layers.ts';

const KEY = 'a'.repeat(64);
const SERVER = '0123456789ab';

let home: string;
let root: string;
let time = 1_000_000;
let store: LayerStore;
const clock = { now: () => time, after: () => () => {} };
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hotcell-test-store-'));
  root = join(home, 'packages');
  store = createLayerStore({ root, serverId: SERVER, clock });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const nextServer = () => createLayerStore({ root, serverId: 'eeeeeeeeeeee', clock });

const filling = (text: string) => async (tree: string) => {
  mkdirSync(join(tree, 'python'));
  writeFileSync(join(tree, 'python/mine.py'), text);
  return {
    ...{ manager: 'pip' as const, packages: [{ name: 'mine', version: '1.0' }] },
    ...{ files: 1, bytes: text.length, occupiedBytes: 8192 },
  };
};

describe('a layer of the store', () => {
  it('is found by its owner and key', async () => {
    await store.add('alice', KEY, filling('x = 1'));
    expect(await store.find('alice', KEY)).toMatchObject({
      key: KEY,
      manifest: { packages: [{ name: 'mine', version: '1.0' }] },
    });
    expect(await store.find('alice', 'b'.repeat(64))).toBeUndefined();
  });

  it('is made anew if its description is damaged', async () => {
    await store.add('alice', KEY, filling('x = 1'));
    truncateSync(join(ownerFolder(root, 'alice').layers, KEY, 'manifest.json'));
    expect(await nextServer().find('alice', KEY)).toBeUndefined();
    expect(await nextServer().add('alice', KEY, filling('x = 2'))).toMatchObject({ key: KEY });
  });

  it("is never another owner's", async () => {
    await store.add('alice', KEY, filling('x = 1'));
    expect(await store.find('bob', KEY)).toBeUndefined();
    expect(await store.use('bob', KEY)).toBeUndefined();
  });

  it('is not visible before it is whole, nor if making it fails', async () => {
    const failing = store.add('alice', KEY, async (tree) => {
      writeFileSync(join(tree, 'half'), '');
      expect(await store.find('alice', KEY)).toBeUndefined();
      throw new Error('the build failed');
    });
    await expect(failing).rejects.toThrow('the build failed');
    expect(await store.find('alice', KEY)).toBeUndefined();
    expect(readdirSync(ownerFolder(root, 'alice').making)).toEqual([]);
  });

  it('that two servers make at once is that of the faster one, for both', async () => {
    const other = createLayerStore({ root, serverId: 'ba9876543210', clock });
    await store.add('alice', KEY, async (tree) => {
      await other.add('alice', KEY, filling('faster'));
      return filling('slower')(tree);
    });
    const use = await store.use('alice', KEY);
    expect(readFileSync(join(use!.tree, 'python/mine.py'), 'utf8')).toBe('faster');
  });

  it('that has lost a file is not used', async () => {
    await store.add('alice', KEY, filling('x = 1'));
    unlinkSync(join(ownerFolder(root, 'alice').layers, KEY, 'tree/python/mine.py'));
    expect(await nextServer().use('alice', KEY)).toBeUndefined();
    expect(await listLayers(root)).toEqual([]);
  });

  it('that lost its contents in a power failure is not used', async () => {
    await store.add('alice', KEY, filling('x = 1'));
    truncateSync(join(ownerFolder(root, 'alice').layers, KEY, 'tree/python/mine.py'));
    expect(await nextServer().find('alice', KEY)).toBeUndefined();
    await nextServer().add('alice', KEY, filling('x = 1'));
    expect(await nextServer().find('alice', KEY)).toBeDefined();
  });

  it('is closed to other users of the machine', async () => {
    await store.add('alice', KEY, filling('x = 1'));
    expect(statSync(root).mode & 0o077).toBe(0);
  });
});

describe('the list of layers', () => {
  it('names what a session has, and does not let it be removed', async () => {
    await store.add('alice', KEY, filling('x = 1'));
    const uses = [await store.use('alice', KEY), await nextServer().use('alice', KEY)];
    const [layer] = await listLayers(root);
    expect(layer).toMatchObject({ owner: 'alice', key: KEY, isInUse: true });
    for (const use of uses) {
      expect(await removeLayer(root, layer!, SERVER)).toBe(false);
      await use?.release();
    }
    expect((await listLayers(root))[0]?.isInUse).toBe(false);
    expect(await removeLayer(root, layer!, SERVER)).toBe(true);
    expect(await listLayers(root)).toEqual([]);
    expect(readdirSync(ownerFolder(root, 'alice').making)).toEqual([]);
  });

  it('may be older than a use: a layer that a session has got since is not removed', async () => {
    await store.add('alice', KEY, filling('x = 1'));
    const [layer] = await listLayers(root);
    const use = await nextServer().use('alice', KEY);
    expect(layer?.isInUse).toBe(false);
    expect(await removeLayer(root, layer!, SERVER)).toBe(false);
    expect(readFileSync(join(use!.tree, 'python/mine.py'), 'utf8')).toBe('x = 1');
    expect(readdirSync(ownerFolder(root, 'alice').making)).toEqual([]);
  });

  it('begins with what was used last', async () => {
    await store.add('alice', KEY, filling('x = 1'));
    await store.add('alice', 'b'.repeat(64), filling('y'));
    time += 1_000_000_000_000; // later than the files were made
    await store.use('alice', KEY);
    expect((await listLayers(root)).map(({ key }) => key[0])).toEqual(['a', 'b']);
  });

  it('is empty without a store', async () => {
    expect(await listLayers(root)).toEqual([]);
  });
});

it('what a server left half-made or in use is removed after it has died, and not before', async () => {
  const { making, uses } = ownerFolder(root, 'alice');
  await store.add('alice', KEY, filling('x'));
  for (const server of [SERVER, 'dddddddddddd']) mkdirSync(join(making, `${server}-1`), { recursive: true });
  await store.use('alice', KEY);
  await nextServer().use('alice', KEY);
  await removeLeftovers(root, { isServerAlive: async (server) => server === SERVER, isSessionKept: async () => false });
  expect(readdirSync(making)).toEqual([`${SERVER}-1`]);
  expect(readdirSync(uses)).toEqual([expect.stringContaining(SERVER)]);
});

it('what a process with dashes in its id is removing stays as long as it is alive', async () => {
  const { making } = ownerFolder(root, 'alice');
  for (const name of ['p-0a-1', 'p-0b-1']) mkdirSync(join(making, name), { recursive: true });
  await removeLeftovers(root, { isServerAlive: async (id) => id === 'p-0a', isSessionKept: async () => false });
  expect(readdirSync(making)).toEqual(['p-0a-1']);
});

it('a layer in use that another server deleted before it was put back is gone', async () => {
  await store.add('alice', KEY, filling('x'));
  const { layers, making } = ownerFolder(root, 'alice');
  const isUsed = async (doomed: string) => {
    rmSync(doomed, { recursive: true });
    return true;
  };
  expect(await removeFolder(join(layers, KEY), { making, serverId: SERVER }, isUsed)).toBe(true);
  expect(await store.find('alice', KEY)).toBeUndefined();
});

it('what a persistent session uses stays when its server has died, until the session has no record', async () => {
  await store.add('alice', KEY, filling('x'));
  const uses = ['s-0a', 's-0b', 's-0a'];
  for (const session of uses)
    expect(await store.use('alice', KEY, session)).toMatchObject({ tree: expect.any(String) });
  const kept = new Set(['s-0a', 's-0b']);
  const users = { isServerAlive: async () => false, isSessionKept: async (id: string) => kept.has(id) };
  for (const gone of ['s-0b', 's-0a']) {
    await removeLeftovers(root, users);
    expect((await listLayers(root))[0]?.isInUse).toBe(true);
    kept.delete(gone);
  }
  await removeLeftovers(root, users);
  expect((await listLayers(root))[0]?.isInUse).toBe(false);
});

it('a failed second use by a persistent session does not end its first', async () => {
  await store.add('alice', KEY, filling('x'));
  await store.use('alice', KEY, 's-0a');
  await (await store.use('alice', KEY, 's-0a'))?.release();
  expect((await listLayers(root))[0]?.isInUse).toBe(true);
});

it('a store in which another user could write is refused', async ({ skip }) => {
  if (process.getuid?.() !== 0) return skip('needs root to play another user');
  const { chownSync } = await import('node:fs');
  mkdirSync(root);
  chownSync(root, 12_345, 12_345);
  await expect(store.add('alice', KEY, filling('x'))).rejects.toThrow();
  await expect(store.find('alice', KEY)).rejects.toThrow();
});

describe('a lock', () => {
  it('is kept for a day, for its owner and request', async () => {
    const now = Date.now();
    let passed = 0;
    const locks = createLockStore({ root, clock: { now: () => now + passed, after: () => () => {} } });
    await locks.keep('alice', 'r1', '{"a":1}');
    expect(await locks.find('alice', 'r1')).toBe('{"a":1}');
    expect(await locks.find('alice', 'r2')).toBeUndefined();
    expect(await locks.find('bob', 'r1')).toBeUndefined();
    passed = LOCK_KEPT_MS + 60_000;
    expect(await locks.find('alice', 'r1')).toBeUndefined();
    await locks.keep('alice', 'r2', '{}');
    expect(readdirSync(ownerFolder(root, 'alice').locks)).toHaveLength(1);
  });

  it('gives way to newer ones if those of an owner are too large together', async () => {
    const locks = createLockStore({ root });
    const large = 'x'.repeat(15_000_000);
    for (const request of ['r1', 'r2', 'r3', 'r4', 'r5']) await locks.keep('alice', request, large);
    expect(await locks.find('alice', 'r5')).toBe(large);
    expect(readdirSync(ownerFolder(root, 'alice').locks)).toHaveLength(4);
  });
});
