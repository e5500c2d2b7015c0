import { type FSWatcher, mkdirSync, mkdtempSync, readdirSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { resolveRunDir } from '../../config/load.ts';
import { packagesFolder } from '../../packages/open-installer.ts';
import { createLayerStore } from '../../packages/store/layer-store.ts';
import { ownerFolder } from '../../packages/store/owner-folder.ts';
import { listLayers } from '../../packages/store/stored-layers.ts';
import { prunePackages } from './index.ts';

const DEAD = '0123456789ab';

let home: string;
const watchers: FSWatcher[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hotcell-prune-'));
  vi.stubEnv('HOTCELL_HOME', home);
  vi.spyOn(process.stdout, 'write').mockImplementation((...args) => {
    const done = args.at(-1);
    if (typeof done === 'function') done();
    return true;
  });
});
afterEach(() => {
  for (const watcher of watchers.splice(0)) watcher.close();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

/** The names of all files that appear in a folder or disappear from it. */
function namesSeenIn(folder: string): Set<string> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const seen = new Set<string>();
  watchers.push(watch(folder, (_, name) => void seen.add(name!)));
  return seen;
}

it('hotcell packages prune counts as alive while it removes layers, and leaves nothing behind', async () => {
  const root = packagesFolder(home);
  const store = createLayerStore({ root, serverId: DEAD });
  await store.add('alice', 'a'.repeat(64), async (tree) => {
    writeFileSync(join(tree, 'f'), 'x');
    return { manager: 'pip', packages: [], files: 1, bytes: 1, occupiedBytes: 4096 };
  });
  const { making } = ownerFolder(root, 'alice');
  const servers = namesSeenIn(join(home, 'servers'));
  const locks = namesSeenIn(resolveRunDir(home));
  const doomed = namesSeenIn(making);

  await prunePackages({ all: true });
  expect(await listLayers(root)).toEqual([]);
  await vi.waitFor(() => expect(doomed.size).toBe(1));
  const [id] = [...doomed].map((name) => name.slice(0, name.lastIndexOf('-')));
  await vi.waitFor(() => {
    expect([...servers]).toContain(id);
    expect([...locks]).toContain(`${id}.lock`);
  });
  for (const folder of [making, join(home, 'servers'), resolveRunDir(home)]) expect(readdirSync(folder)).toEqual([]);
});

it('hotcell packages prune makes no data folder where there is none', async () => {
  rmSync(home, { recursive: true });
  await prunePackages({});
  expect(() => readdirSync(home)).toThrow('ENOENT');
});
