import { execFileSync } from 'node:child_process';
import { chown, mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Home } from '../../sessions/secret-homes.ts';
import { createHostFiles, type HostFiles } from './index.ts';

let folder: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'hotcell-host-files-')));
  for (const name of ['work/project', 'outside', 'home/.config']) await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, 'outside/k.txt'), 'secret');
  await writeFile(join(folder, 'home/.config/hosts.yml'), 'token');
  await writeFile(join(folder, 'work/project/a.csv'), '1');
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test.each<[string, 'after' | 'before']>([
  ['after the server started', 'after'],
  ['before it started', 'before'],
])('a root that code in a sandbox exchanges for a link, %s, leads nowhere', async (_when, when) => {
  for (const target of ['outside', 'home/.config']) {
    let files = hostFiles();
    await rename(join(folder, 'work/project'), join(folder, 'work/old'));
    await symlink(join(folder, target), join(folder, 'work/project'));
    if (when === 'before') files = hostFiles();
    for (const source of ['outside/k.txt', 'home/.config/hosts.yml', 'work/project/k.txt', 'work/project/*']) {
      await expect(files.find(join(folder, source))).rejects.toMatchObject({ code: 'host_path_denied' });
    }
    await rm(join(folder, 'work/project'));
    await rename(join(folder, 'work/old'), join(folder, 'work/project'));
  }
  expect((await hostFiles().find(join(folder, 'work/project/a.csv'))).files).toHaveLength(1);
});

test('the refusal of a link does not reveal which files the host has', async () => {
  const targets = ['outside', 'outside/k.txt', 'outside/nothing', 'nowhere/at/all'];
  const answers = targets.flatMap((target, index) =>
    ['', '/x', '/*.txt'].map(async (below) => {
      const link = join(folder, `work/project/${index}${below.length}`);
      await symlink(join(folder, target), link);
      return hostFiles()
        .find(`${link}${below}`)
        .catch(({ code }: { code: string }) => code);
    }),
  );
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['host_path_denied']));
  const missing = hostFiles().find(join(folder, 'work/project/nothing/at/all'));
  await expect(missing).rejects.toMatchObject({ code: 'file_not_found' });
});

test.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
  'what is denied stays so at a second path that the host has mounted its folder at',
  async () => {
    for (const name of ['export/alice/.ssh', 'export/alice/.config', 'export/alice/work', 'home/alice'])
      await mkdir(join(folder, name), { recursive: true });
    for (const name of ['.ssh/id', '.config/token', 'work/a.csv'])
      await writeFile(join(folder, 'export/alice', name), name);
    await chown(join(folder, 'export/alice'), 61_842, 61_842);
    execFileSync('mount', ['--bind', join(folder, 'export/alice'), join(folder, 'home/alice')]);
    try {
      const files = createHostFiles({
        ...{ roots: [join(folder, 'export')], denied: [join(folder, 'home/alice/.ssh')], base: folder, writable: [] },
        homesOfOthers: () => [{ path: join(folder, 'home/alice'), isPerson: true }],
      });
      for (const name of ['.ssh/id', '.ssh', '.ssh/*', '.config/token'])
        await expect(files.find(join(folder, 'export/alice', name))).rejects.toMatchObject({
          code: 'host_path_denied',
        });
      const found = await files.find(join(folder, 'export'));
      expect(found.files.map(({ name }) => name)).toEqual(['alice/work/a.csv']);
      const [file] = found.files;
      const key = { ...file!, path: join(folder, 'export/alice/.ssh/id') };
      await expect(files.stream(key, 100)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
        code: 'host_path_denied',
      });
    } finally {
      execFileSync('umount', [join(folder, 'home/alice')]);
    }
  },
);

test('keys and hidden files of a user who was added after the server started are not copied', async () => {
  const homes: Home[] = [];
  const files = createHostFiles({
    ...{ roots: [folder], denied: [], base: folder, home: join(folder, 'home'), writable: [] },
    homesOfOthers: () => homes,
  });
  const names = ['bob/.ssh/id', 'bob/.netrc', 'bob/.hidden'];
  await mkdir(join(folder, 'bob/.ssh'), { recursive: true });
  for (const name of names) await writeFile(join(folder, name), 'key');
  for (const name of names) expect((await files.find(join(folder, name))).files).toHaveLength(1);
  homes.push({ path: join(folder, 'bob'), isPerson: true });
  for (const name of names)
    await expect(files.find(join(folder, name))).rejects.toMatchObject({ code: 'host_path_denied' });
});

function hostFiles(): HostFiles {
  return createHostFiles({
    roots: [join(folder, 'work/project')],
    denied: [],
    base: folder,
    home: join(folder, 'home'),
    writable: [join(folder, 'work')],
  });
}
