import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLayerFolders, type LayerFolders } from './layer-folders.ts';
import { COMMON_ID } from './process/session-uids.ts';

let dataDir: string;
let folders: LayerFolders;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'hotcell-folders-'));
  folders = createLayerFolders({ dataDir, serverId: 'server' });
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

it('makes a readable folder, below the id of its server', () => {
  const { folder, makeIn } = folders.make('s-1');
  expect(folder).toBe(join(dataDir, 'layers/server/s-1'));
  expect(makeIn).toBe(join(dataDir, 'layers/server'));
  expect(modeOf(folder)).toBe(0o755);
  expect(modeOf(makeIn)).toBe(0o711);
});

it.each([0o700, 0o711, 0o755])('opens the folder of all layers to jails alone, if it had the mode %o', (mode) => {
  const root = join(dataDir, 'layers');
  mkdirSync(root);
  chmodSync(root, mode);
  folders.make('s-1');
  const isRoot = process.getuid?.() === 0;
  expect(modeOf(root)).toBe(isRoot ? 0o710 : 0o700);
  if (isRoot) expect(statSync(root).gid).toBe(COMMON_ID);
});

it('makes folders of several sandboxes in a common one, which their jail cannot list', () => {
  const sharedFolder = folders.makeShared('jail-1');
  expect(folders.make('s-1', { sharedFolder }).folder).toBe(join(sharedFolder, 's-1'));
  expect(modeOf(sharedFolder)).toBe(0o711);
});

it('keeps the folder of a sandbox that may outlive its server where another server finds it', () => {
  const { folder } = folders.make('s-1', { isKept: true });
  const next = createLayerFolders({ dataDir, serverId: 'next' });
  expect(next.kept('s-1')).toEqual({ folder, makeIn: join(dataDir, 'layers/next') });
  expect(next.kept('s-2')).toBeUndefined();
});

it('removes a folder with its contents, and one that is gone', async () => {
  const { folder } = folders.make('s-1');
  writeFileSync(join(folder, 'file'), '');
  await folders.remove(folder);
  await folders.remove(folder);
  expect(existsSync(folder)).toBe(false);
});

it('a folder with layers is gone at once, and its files when all is settled', async () => {
  const { folder, makeIn } = folders.make('s-1', { isKept: true });
  for (let layer = 1; layer <= 4; layer += 1) {
    const path = join(folder, `000${layer}/python`);
    mkdirSync(path, { recursive: true });
    for (let file = 0; file < 500; file += 1) writeFileSync(join(path, `${file}.py`), '');
  }
  await folders.remove(folder);
  expect(existsSync(folder)).toBe(false);
  expect(readdirSync(makeIn)).toEqual([expect.stringMatching(/^removed-/)]);
  await folders.settled();
  expect(readdirSync(makeIn)).toEqual([]);
});

it('folders that are removed in a loop do not pile up', async () => {
  const left: number[] = [];
  for (let round = 0; round < 30; round += 1) {
    const { folder, makeIn } = folders.make(`s-${round}`);
    mkdirSync(join(folder, '0001/python/a/b/c'), { recursive: true });
    await folders.remove(folder);
    left.push(readdirSync(makeIn).length);
  }
  expect(Math.max(...left)).toBeLessThanOrEqual(9);
});

it('nor do folders that are removed all at once', async () => {
  const left: number[] = [];
  const remove = async (name: string) => {
    const { folder, makeIn } = folders.make(name);
    mkdirSync(join(folder, '0001/python'), { recursive: true });
    for (let file = 0; file < 50; file += 1) writeFileSync(join(folder, `0001/python/${file}.py`), '');
    await folders.remove(folder);
    left.push(readdirSync(makeIn).filter((entry) => entry.startsWith('removed-')).length);
  };
  await Promise.all(Array.from({ length: 30 }, (_, at) => remove(`s-${at}`)));
  expect(Math.max(...left)).toBeLessThanOrEqual(9);
});

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}
