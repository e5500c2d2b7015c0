import { mkdir, mkdtemp, readdir, readlink, realpath, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type HeldMounts, holdKnownMounts, holdMounts } from './held-mounts.ts';
import type { MountRegistry } from './mount-registry.ts';
import type { MountPolicy } from './mounts.ts';

let folder: string;
let entered: number;
let held: HeldMounts;

const registry: MountRegistry = {
  claim: async () => enter(),
  enter: async () => enter(),
};

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'hotcell-held-mounts-')));
  await mkdir(join(folder, 'data'));
  entered = 0;
  const requests = [{ source: join(folder, 'data'), target: '/data' }];
  held = await holdMounts({ mounts: requests }, { roots: [folder], denied: [] }, registry);
});

afterEach(async () => {
  await held.release();
  await rm(folder, { recursive: true, force: true });
});

test('a folder is held open and registered until it is released', async () => {
  expect(await openHere()).toEqual([join(folder, 'data')]);
  expect(entered).toBe(1);
  await held.requireSame();
  await held.release();
  await held.release();
  expect(await openHere()).toEqual([]);
  expect(entered).toBe(0);
});

test.each<[string, () => Promise<void>]>([
  ['another folder', () => mkdir(join(folder, 'data'))],
  ['a link to the folder itself', () => symlink(join(folder, 'moved'), join(folder, 'data'))],
  ['a link elsewhere', () => symlink('/etc', join(folder, 'data'))],
  ['nothing', async () => {}],
])('where there is %s in its place, no other sandbox is made', async (_what, put) => {
  await rename(join(folder, 'data'), join(folder, 'moved'));
  await put();
  await expect(held.requireSame()).rejects.toMatchObject({
    code: 'mount_denied',
    remedy: expect.any(String) as string,
  });
});

test('mounts of an adopted session are compared before another sandbox is created', async () => {
  const known = await holdKnownMounts({ owner: 'local', spec: held }, { roots: [folder], denied: [] }, registry);
  await known.requireSame();
  await rename(join(folder, 'data'), join(folder, 'moved'));
  await mkdir(join(folder, 'data'));
  const later = await holdKnownMounts({ owner: 'local', spec: held }, { roots: [folder], denied: [] }, registry);
  await expect(later.requireSame()).rejects.toMatchObject({ code: 'mount_denied' });
  await known.release();
  await later.release();
});

test.each<[string, (folder: string) => MountPolicy]>([
  ['taken from the allowed ones', () => ({ roots: [], denied: [] })],
  ['denied', (all) => ({ roots: [all], denied: [join(all, 'data')] })],
])('folders of a session that is taken over that have been %s since are known as such', async (_how, policyOf) => {
  const known = await holdKnownMounts({ owner: 'local', spec: held }, policyOf(folder), registry);
  expect(() => known.requireAllowed()).toThrow(expect.objectContaining({ code: 'mount_denied' }));
  await expect(known.requireSame()).rejects.toMatchObject({ code: 'mount_denied' });
  await known.release();
});

test('a mount that the registry refuses is not held', async () => {
  const refusing = { ...registry, claim: async () => Promise.reject(new Error('refused')) };
  const requests = [{ source: folder, target: '/all' }];
  await expect(holdMounts({ mounts: requests }, { roots: [folder], denied: [] }, refusing)).rejects.toThrow('refused');
  expect(await openHere()).toEqual([join(folder, 'data')]);
});

function enter(): () => Promise<void> {
  let isIn = true;
  entered += 1;
  return async () => {
    if (isIn) entered -= 1;
    isIn = false;
  };
}

/** The descriptors of this process in the test's folder. */
async function openHere(): Promise<string[]> {
  const names = await readdir('/proc/self/fd');
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')));
  return targets.filter((target) => target.startsWith(folder));
}
