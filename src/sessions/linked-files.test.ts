import { chownSync, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { linkedFile } from './linked-files.ts';
import { mountPolicy, resolveMounts } from './mounts.ts';

let folder: string;
let installed: string;
const chunk = () => join(installed, 'dist/chunks/a.js');
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hotcell-linked-'));
  installed = join(folder, 'node_modules/hotcell');
  mkdirSync(join(installed, 'dist/chunks'), { recursive: true });
  mkdirSync(join(folder, 'store'));
  writeFileSync(join(installed, 'package.json'), '{}');
  writeFileSync(chunk(), '');
  if (process.getuid?.() === 0) chownSync(chunk(), 61_841, 61_841);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const mount = (readOnly: boolean) =>
  resolveMounts(
    [{ source: join(folder, 'store'), target: '/store', readOnly }],
    mountPolicy({ roots: [folder], denied: [installed], linked: () => linkedFile(installed) }),
  );

it('a Hotcell installed as copies has no linked file, and folders beside it are mounted writable', async () => {
  expect(linkedFile(installed)).toBeUndefined();
  for (const { close } of (await mount(false)).folders) await close();
});

it('a Hotcell installed as hard links prevents writable mounts of its file system', async () => {
  linkSync(chunk(), join(folder, 'store/a'));
  expect(linkedFile(installed)).toEqual({ path: chunk(), device: statSync(folder, { bigint: true }).dev });
  const before = readdirSync('/proc/self/fd').length;
  await expect(mount(false)).rejects.toMatchObject({
    code: 'mount_denied',
    message: expect.stringContaining('is a hard link'),
    remedy: expect.stringContaining('package-import-method copy'),
  });
  expect(readdirSync('/proc/self/fd').length).toBe(before);
  for (const { close } of (await mount(true)).folders) await close();
});

it.skipIf(process.getuid?.() !== 0)(
  'counts for nothing where it is a file of root, which no sandbox can write to',
  () => {
    chownSync(chunk(), 0, 0);
    linkSync(chunk(), join(folder, 'store/a'));
    expect(linkedFile(installed)).toBeUndefined();
  },
);
