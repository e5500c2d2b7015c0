import { mkdir, mkdtemp, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { identityOf, isSameFolder } from '../../lib/held-folder.ts';
import type { Mount } from '../../sandbox/spec.ts';
import { openMountDescriptors } from './mount-descriptors.ts';

let folder: string;
let mount: Mount;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'hotcell-descriptors-')));
  for (const name of ['run', 'data', 'other']) await mkdir(join(folder, name));
  mount = {
    source: join(folder, 'data'),
    target: '/data',
    readOnly: true,
    identity: identityOf(await stat(join(folder, 'data'), { bigint: true })),
  };
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('a device leads to the folder that was checked, even after another takes its path, until it is closed', async () => {
  const { devices, close } = await openMountDescriptors([mount], join(folder, 'run'));
  await rename(join(folder, 'data'), join(folder, 'moved'));
  await rename(join(folder, 'other'), join(folder, 'data'));
  const reached = identityOf(await stat(devices[0]!, { bigint: true }));
  expect(isSameFolder(reached, mount.identity)).toBe(true);
  await close();
  await expect(stat(devices[0]!)).rejects.toThrow();
  expect(await readdir(join(folder, 'run'))).toEqual([]);
});

test('a device path goes through a name that only this process knows', async () => {
  const { devices, close } = await openMountDescriptors([mount], join(folder, 'run'));
  expect(devices[0]).toMatch(new RegExp(`^/proc/${process.pid}/fd/\\d+/[0-9a-f]{32}-0$`));
  await close();
});

test('a folder that was exchanged before is refused, without leftovers', async () => {
  await rename(join(folder, 'data'), join(folder, 'moved'));
  await rename(join(folder, 'other'), join(folder, 'data'));
  await expect(openMountDescriptors([mount], join(folder, 'run'))).rejects.toMatchObject({ code: 'mount_denied' });
  expect(await readdir(join(folder, 'run'))).toEqual([]);
});
