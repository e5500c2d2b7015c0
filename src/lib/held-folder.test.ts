import { mkdir, mkdtemp, realpath, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { holdFolder, identityOf, isSameFolder } from './held-folder.ts';

let folder: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'hotcell-held-')));
  await mkdir(join(folder, 'a/b'), { recursive: true });
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('a held folder keeps its identity when it is moved', async () => {
  const held = await holdFolder(join(folder, 'a/b'));
  await rename(join(folder, 'a/b'), join(folder, 'moved'));
  await mkdir(join(folder, 'a/b'));
  const found = async (name: string) => identityOf(await stat(join(folder, name), { bigint: true }));
  expect(isSameFolder(held!.identity, await found('moved'))).toBe(true);
  expect(isSameFolder(held!.identity, await found('a/b'))).toBe(false);
  await held!.close();
});

test('no other folder gets the identity of a held folder after it was removed', async () => {
  const held = await holdFolder(join(folder, 'a/b'));
  await rm(join(folder, 'a/b'), { recursive: true });
  for (let made = 0; made < 50; made += 1) {
    await mkdir(join(folder, `a/${made}`));
    const { ino } = await stat(join(folder, `a/${made}`), { bigint: true });
    expect(String(ino)).not.toBe(held!.identity.inode);
  }
  await held!.close();
});

test('a link, a folder behind a link and a file are not held', async () => {
  await symlink(join(folder, 'a/b'), join(folder, 'link'));
  await symlink(join(folder, 'a'), join(folder, 'way'));
  await writeFile(join(folder, 'file'), '');
  for (const name of ['link', 'way/b', 'file', 'nothing']) {
    expect(await holdFolder(join(folder, name)), name).toBeUndefined();
  }
});
