import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { limitSocketMemory } from './socket-memory.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'hotcell-cgroups-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

it.each(['docker/abc', 'system.slice/docker-abc.scope'])('limits the group %s', async (group) => {
  const file = join(root, group, 'memory.kmem.tcp.limit_in_bytes');
  await mkdir(join(root, group), { recursive: true });
  await writeFile(file, '');
  limitSocketMemory('abc', 4096, root);
  expect(await readFile(file, 'utf8')).toBe('4096');
});

it('makes no file where there is no such group', async () => {
  limitSocketMemory('abc', 4096, root);
  await mkdir(join(root, 'docker/abc'), { recursive: true });
  limitSocketMemory('abc', 4096, root);
  expect(await readdir(join(root, 'docker/abc'))).toEqual([]);
});
