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

test('a device leads to the folder that was checked, whatever takes its place, and ends with the closing', async () => {
  const { devices, close } = await openMountDescriptors([mount], join(folder, 'run'));
  await rename(join(folder, 'data'), join(folder, 'moved'));
  await rename(join(folder, 'other'), join(folder, 'data'));
  const reached = identityOf(await stat(devices[0]!, { bigint: true }));
  expect(isSameFolder(reached, mount.identity)).toBe(true);
  await close();
  await expect(stat(devices[0]!)).rejects.toThrow();
  expect(await readdir(join(folder, 'run'))).toEqual([]);
});

test('a device names a process by something that only this one has', async () => {
  const { devices, close } = await openMountDescriptors([mount], join(folder, 'run'));
  expect(devices[0]).toMatch(new RegExp(`^/proc/${process.pid}/fd/\\d+/[0-9a-f]{32}-0$`));
  await close();
});

test('a folder that was exchanged before is refused, and nothing is left', async () => {
  await rename(join(folder, 'data'), join(folder, 'moved'));
  await rename(join(folder, 'other'), join(folder, 'data'));
  await expect(openMountDescriptors([mount], join(folder, 'run'))).rejects.toMatchObject({ code: 'mount_denied' });
  expect(await readdir(join(folder, 'run'))).toEqual([]);
});
