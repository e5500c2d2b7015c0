import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { deferred } from '../lib/deferred.ts';
import { identityOf } from '../lib/held-folder.ts';
import { lookUp } from '../lib/lookups.ts';
import type { Mount } from '../sandbox/spec.ts';
import { toWrite, type WrittenMount } from './mount-entry.ts';
import { createMountRegistry, type MountRegistry } from './mount-registry.ts';

const OURS = 'aaaaaaaaaaaa';
const THEIRS = 'bbbbbbbbbbbb';
let folder: string;
let alive: Set<string>;
let left: WrittenMount[][];
let ours: MountRegistry;
let theirs: MountRegistry;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'hotcell-registry-')));
  await mkdir(join(folder, 'proj/sub/deep'), { recursive: true });
  await mkdir(join(folder, 'project'));
  alive = new Set([OURS, THEIRS]);
  left = [];
  [ours, theirs] = [OURS, THEIRS].map((serverId) =>
    createMountRegistry({
      folder: join(folder, 'run'),
      serverId,
      isServerAlive: async (id) => alive.has(id),
      left: async () => left,
    }),
  ) as [MountRegistry, MountRegistry];
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const writable = (name: string) => mountOf(name, false);
const readOnly = (name: string) => mountOf(name, true);

test.each([
  ['this server', () => ours],
  ['another server', () => theirs],
])('what lies strictly below a folder that a session of %s can write to is denied', async (_whose, others) => {
  const release = await others().claim([await writable('proj')]);
  for (const inner of ['proj/sub', 'proj/sub/deep']) {
    await expect(ours.claim([await readOnly(inner)])).rejects.toMatchObject({
      code: 'mount_denied',
      message: expect.stringContaining('another session can write to') as string,
      remedy: expect.any(String) as string,
    });
  }
  await ours.claim([await writable('proj'), await readOnly('project')]);
  await release();
});

test('a writable folder above one that a session has mounted is denied, a read-only one is not', async () => {
  const release = await theirs.claim([await readOnly('proj/sub')]);
  await expect(ours.claim([await writable('proj')])).rejects.toMatchObject({ code: 'mount_denied' });
  await ours.claim([await readOnly('proj')]);
  await release();
  await ours.claim([await writable('proj')]);
});

test.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
  'a folder below the second path of a folder that a session can write to is denied, the same folder is not',
  async () => {
    await mkdir(join(folder, 'home'));
    await mkdir(join(folder, 'disk/home/bob'), { recursive: true });
    execFileSync('mount', ['--bind', join(folder, 'disk/home'), join(folder, 'home')]);
    try {
      const release = await theirs.claim([await writable('disk')]);
      await expect(ours.claim([await readOnly('home/bob')])).rejects.toMatchObject({ code: 'mount_denied' });
      await release();
      await (await theirs.claim([await writable('disk/home/bob')]))();
      await ours.claim([await writable('home/bob')]);
      await theirs.claim([await writable('disk/home/bob')]);
      await expect(theirs.claim([await writable('disk')])).rejects.toMatchObject({ code: 'mount_denied' });
    } finally {
      execFileSync('umount', [join(folder, 'home')]);
    }
  },
);

test('an entry ends with its session, and with its server', async () => {
  const release = await ours.claim([await writable('proj')]);
  await expect(ours.claim([await readOnly('proj/sub')])).rejects.toThrow();
  await release();
  await theirs.claim([await writable('proj')]);
  await expect(ours.claim([await readOnly('proj/sub')])).rejects.toThrow();
  alive.delete(THEIRS);
  await ours.claim([await readOnly('proj/sub')]);
});

test('a session that outlives its server counts', async () => {
  left = [[await writable('proj')]];
  await expect(ours.claim([await readOnly('proj/sub')])).rejects.toMatchObject({ code: 'mount_denied' });
  left = [[await readOnly('proj/sub')]];
  await expect(ours.claim([await writable('proj')])).rejects.toMatchObject({ code: 'mount_denied' });
});

test('a session that outlives its server, with a record of an older one, counts', async () => {
  for (const [theirs, mine] of [
    [await writable('proj'), await readOnly('proj/sub')],
    [await readOnly('proj/sub'), await writable('proj')],
  ] as const) {
    const { source, readOnly, identity } = theirs;
    left = [[{ source, readOnly, identity }]];
    await expect(ours.claim([mine])).rejects.toMatchObject({ code: 'mount_denied' });
  }
});

test('a claim looks nothing up, so that no folder of another session can hold it up', async () => {
  const mine = await writable('project');
  const { source, readOnly: isReadOnly, identity } = await readOnly('proj/sub');
  left = [[{ source, readOnly: isReadOnly, identity }]];
  const hanging = deferred<void>();
  const owners = ['a', 'b', 'c', 'd'];
  const lookups = owners.map((owner) => lookUp(owner, () => hanging.promise)); // no place is left
  const release = await ours.claim([mine]);
  await release();
  hanging.resolve();
  await Promise.all(lookups);
});

test('mounts of an ended session count until the last session that shared a writable folder with it ends, in any server', async () => {
  await mkdir(join(folder, 'shared'));
  await mkdir(join(folder, 'more'));
  const closeFirst = await ours.claim([await writable('shared'), await writable('proj'), await writable('more')]);
  const closeSecond = await theirs.claim([await writable('shared')]);
  await closeFirst();
  const closeThird = await theirs.claim([await writable('shared'), await readOnly('project')]);
  await closeSecond();
  await expect(ours.claim([await readOnly('proj/sub')])).rejects.toMatchObject({ code: 'mount_denied' });
  await closeThird();
  await ours.claim([await readOnly('proj/sub')]);
  expect((await readdir(join(folder, 'run'))).sort()).toEqual([OURS, THEIRS]);
});

test('mounts of an ended session do not count if it shared no folder, or only folders that both could only read', async () => {
  const closeFirst = await ours.claim([await readOnly('project'), await writable('proj')]);
  const closeSecond = await theirs.claim([await readOnly('project')]);
  await closeFirst();
  await ours.claim([await readOnly('proj/sub')]);
  await closeSecond();
});

test.each([
  ['the same folder', 'shared/in'],
  ['a folder above it', 'shared'],
])('what a session had counts while another lives that could read %s: sockets answer there', async (_what, read) => {
  await mkdir(join(folder, 'shared/in'), { recursive: true });
  for (const [first, second] of [
    [await writable('shared/in'), await readOnly(read)],
    ...(read === 'shared/in' ? [[await readOnly(read), await writable('shared/in')]] : []),
  ] as [WrittenMount, WrittenMount][]) {
    const closeFirst = await ours.claim([first, await writable('proj')]);
    const closeSecond = await theirs.claim([second]);
    await closeFirst();
    await expect(ours.claim([await readOnly('proj/sub')])).rejects.toMatchObject({ code: 'mount_denied' });
    await closeSecond();
    await (await ours.claim([await readOnly('proj/sub')]))();
  }
  expect((await readdir(join(folder, 'run'))).sort()).toEqual([OURS, THEIRS]);
});

test('an ended session with read-only access connects the sessions that it was in touch with', async () => {
  for (const name of ['a', 'b']) await mkdir(join(folder, name));
  const closeGiver = await ours.claim([await writable('a'), await writable('proj')]);
  const closeTaker = await ours.claim([await writable('b')]);
  await (await ours.claim([await readOnly('a'), await readOnly('b')]))();
  await closeGiver();
  await expect(ours.claim([await readOnly('proj/sub')])).rejects.toMatchObject({ code: 'mount_denied' });
  await closeTaker();
  await ours.claim([await readOnly('proj/sub')]);
});

test('two sessions that shared a folder and end at once leave no entry', async () => {
  const both = [await ours.claim([await writable('proj')]), await ours.claim([await writable('proj')])];
  await Promise.all(both.map((close) => close()));
  expect(await readdir(join(folder, 'run'))).toEqual([OURS]);
  expect(await readdir(join(folder, 'run', OURS))).toEqual([]);
});

test('any number of ended sessions with the same folders leave one entry', async () => {
  await ours.claim([await writable('proj')]);
  for (let round = 0; round < 20; round += 1) {
    const release = await ours.claim([await writable('proj'), await writable('project')]);
    await release();
    await release();
  }
  expect(await readdir(join(folder, 'run/ended'))).toHaveLength(1);
});

test('the entries of ended sessions are bounded; the latest are kept', async () => {
  for (let round = 0; round <= 70; round += 1) await mkdir(join(folder, `f${round}/in`), { recursive: true });
  const close = await ours.claim([await writable('proj')]);
  for (let round = 0; round <= 70; round += 1)
    await (await ours.claim([await writable('proj'), await writable(`f${round}`)]))();
  expect(await readdir(join(folder, 'run/ended'))).toHaveLength(64);
  await (await ours.claim([await readOnly('f6/in')]))();
  await expect(ours.claim([await readOnly('f7/in')])).rejects.toMatchObject({ code: 'mount_denied' });
  await expect(ours.claim([await readOnly('f70/in')])).rejects.toMatchObject({ code: 'mount_denied' });
  await close();
  await ours.claim([await readOnly('f70/in')]);
  // The last live session had a folder that they shared: no entry is left.
  await (await ours.claim([await writable('project')]))();
  expect(await readdir(join(folder, 'run'))).toEqual([OURS]);
});

test('in a chain of shared folders the bound drops none in the middle', async () => {
  for (let round = 0; round <= 70; round += 1) await mkdir(join(folder, `f${round}/in`), { recursive: true });
  await ours.claim([await writable('f0')]);
  for (let round = 0; round < 70; round += 1)
    await (await ours.claim([await writable(`f${round}`), await writable(`f${round + 1}`)]))();
  expect(await readdir(join(folder, 'run/ended'))).toHaveLength(64);
  for (const name of ['f1/in', 'f64/in'])
    await expect(ours.claim([await readOnly(name)])).rejects.toMatchObject({ code: 'mount_denied' });
});

test('of an ended session only writable folders count, and none that it could not hand on', async () => {
  await mkdir(join(folder, 'shared'));
  await ours.claim([await writable('shared')]);
  await (await ours.claim([await writable('shared'), await readOnly('proj/sub')]))();
  await (await ours.claim([await writable('proj')]))({ mayBeHandedOn: false });
  await (await ours.claim([await writable('shared'), await writable('project')]))({ mayBeHandedOn: false });
  await ours.claim([await writable('proj')]);
  const ended = await readdir(join(folder, 'run/ended'));
  const texts = await Promise.all(ended.map((name) => readFile(join(folder, 'run/ended', name), 'utf8')));
  expect(texts.flatMap((text) => (JSON.parse(text) as Mount[]).map(({ source }) => source))).toEqual([
    ...[join(folder, 'shared'), join(folder, 'proj/sub')],
  ]);
});

test('the last session that shared a folder removes the entries of the others, even if it could hand on nothing', async () => {
  const close = await ours.claim([await writable('proj')]);
  await (await ours.claim([await writable('proj'), await writable('project')]))();
  await close({ mayBeHandedOn: false });
  expect(await readdir(join(folder, 'run'))).toEqual([OURS]);
});

test('a comparison does not read the parent folders of other mounts', async () => {
  await mkdir(join(folder, `deep${'/d'.repeat(60)}`), { recursive: true });
  await ours.claim([await readOnly(`deep${'/d'.repeat(60)}`)]);
  await rename(join(folder, 'deep'), join(folder, 'proj/deep'));
  await ours.claim([await writable('project')]);
  // The parents recorded on registration identify it.
  await expect(ours.claim([await writable('proj/deep')])).rejects.toMatchObject({ code: 'mount_denied' });
});

test('a folder counts even after it was moved', async () => {
  await ours.claim([await writable('proj')]);
  await rename(join(folder, 'proj'), join(folder, 'moved'));
  await expect(ours.claim([await readOnly('moved/sub')])).rejects.toMatchObject({ code: 'mount_denied' });
});

test('of two nested folders claimed at once at most one is accepted', async () => {
  const [outer, inner] = [await writable('proj'), await readOnly('proj/sub')];
  for (let round = 0; round < 50; round += 1) {
    const claims = await Promise.allSettled([ours.claim([outer]), theirs.claim([inner])]);
    const releases = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []));
    expect(releases.length).toBeLessThan(2);
    for (const release of releases) await release();
  }
  const release = await ours.claim([outer]);
  await release(); // the refused claim has left no entry
  await theirs.claim([inner]);
});

test('a refused claim does not cause other claims of its server to be refused', async () => {
  await mkdir(join(folder, 'project/in'));
  await ours.claim([await writable('project')]);
  const refused = [await writable('proj'), await readOnly('project/in')];
  const wanted = [await readOnly('proj/sub')];
  for (let round = 0; round < 20; round += 1) {
    const attempts = [refused, refused, wanted, refused].map((mounts) => ours.claim(mounts));
    const [first, second, release, last] = await Promise.allSettled(attempts);
    expect([first, second, last].map((claim) => claim?.status)).toEqual(['rejected', 'rejected', 'rejected']);
    if (release?.status !== 'fulfilled') throw new Error(`refused in round ${round}`, { cause: release?.reason });
    await release.value();
  }
});

test('an entry of an older server counts', async () => {
  await theirs.claim([await readOnly('project')]);
  const { source, readOnly: isReadOnly, identity } = await writable('proj');
  const entry = JSON.stringify([{ source, readOnly: isReadOnly, identity }]);
  await writeFile(join(folder, 'run', THEIRS, 'm-1.json'), entry);
  await expect(ours.claim([await readOnly('proj/sub')])).rejects.toMatchObject({ code: 'mount_denied' });
});

const BROKEN = [
  ['empty', ''],
  ['half an entry', '[{"source":'],
  ['no entry', '{"mounts":1}'],
] as const;

test.each(BROKEN)(
  'beside an entry of a live server that is %s nobody is let in, and whoever is in gets out',
  async (_what, text) => {
    const releases = [await ours.claim([await readOnly('proj')]), await ours.claim([await writable('project')])];
    const broken = join(folder, 'run', OURS, 'm-1.json');
    await writeFile(broken, text);
    await expect(ours.claim([await readOnly('project')])).rejects.toMatchObject({
      code: 'mount_denied',
      remedy: expect.any(String) as string,
    });
    for (const release of releases) await release();
    await rm(broken);
    await ours.claim([await writable('proj'), await writable('project')]);
    expect(await readdir(join(folder, 'run', OURS))).toHaveLength(1);
  },
);

test.each(BROKEN)('an entry of a dead server that is %s does not count', async (_what, text) => {
  await theirs.claim([await readOnly('project')]);
  await writeFile(join(folder, 'run', THEIRS, 'm-1.json'), text);
  alive.delete(THEIRS);
  const release = await ours.claim([await writable('proj')]);
  await release();
  await ours.claim([await readOnly('proj/sub')]);
});

test.each(BROKEN)('an entry of a session that has ended is removed when it is %s', async (_what, text) => {
  await mkdir(join(folder, 'run', 'ended'), { recursive: true, mode: 0o700 });
  await writeFile(join(folder, 'run', 'ended', 'm-1.json'), text);
  const release = await ours.claim([await writable('proj')]);
  await release();
  await ours.claim([await readOnly('proj/sub')]);
  expect(await readdir(join(folder, 'run'))).toEqual([OURS]);
});

test('a session whose entry was lost meanwhile ends normally', async () => {
  const releases = [await ours.claim([await writable('proj')]), await ours.claim([await writable('proj')])];
  for (const name of await readdir(join(folder, 'run', OURS))) await writeFile(join(folder, 'run', OURS, name), '');
  for (const release of releases) await release();
});

async function mountOf(name: string, isReadOnly: boolean): Promise<WrittenMount> {
  const source = join(folder, name);
  const identity = identityOf(await stat(source, { bigint: true }));
  return toWrite({ source, readOnly: isReadOnly, identity });
}
