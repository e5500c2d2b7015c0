import { execFileSync } from 'node:child_process';
import { chown, mkdir, mkdtemp, realpath, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HotcellError } from '../errors/hotcell-error.ts';
import { identityOf } from '../lib/held-folder.ts';
import type { Mount } from '../sandbox/spec.ts';
import { concernsPolicy, type MountPolicy, type MountRequest, mountPolicy, resolveMounts } from './mounts.ts';
import { type Home, keysInHomes } from './secret-homes.ts';

let folder: string;
let policy: MountPolicy;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'hotcell-mounts-')));
  for (const name of ['allowed/data', 'allowed/secret/keys', 'elsewhere']) {
    await mkdir(join(folder, name), { recursive: true });
  }
  policy = { roots: [join(folder, 'allowed')], denied: [join(folder, 'allowed/secret')] };
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('a folder below an allowed root is mounted, read-only by default', async () => {
  const source = join(folder, 'allowed/data');
  const identity = identityOf(await stat(source, { bigint: true }));
  expect(await resolve({ source, target: '/data' })).toEqual([{ source, target: '/data', readOnly: true, identity }]);
  expect(await resolve({ source, target: '/data/', readOnly: false })).toEqual([
    { source, target: '/data', readOnly: false, identity },
  ]);
});

test('a link that stays inside the root is resolved', async () => {
  await symlink(join(folder, 'allowed/data'), join(folder, 'allowed/link'));
  expect(await resolve({ source: join(folder, 'allowed/link'), target: '/data' })).toMatchObject([
    { source: join(folder, 'allowed/data') },
  ]);
});

test('a root that is a link allows folders below its target', async () => {
  await symlink(join(folder, 'allowed'), join(folder, 'root'));
  policy = mountPolicy({ ...policy, roots: [join(folder, 'root')] });
  expect(await resolve({ source: join(folder, 'root/data'), target: '/data' })).toHaveLength(1);
});

describe('a link that code in a sandbox creates in a writable folder', () => {
  const put = async (name: string, target: string) => {
    await rm(join(folder, name), { recursive: true, force: true });
    await symlink(target, join(folder, name));
  };

  test.each<[string, 'before' | 'after']>([
    ['after the server started', 'after'],
    ['before it started', 'before'],
  ])('makes no other root of one that lies in it, %s', async (_when, when) => {
    const given = { roots: [join(folder, 'allowed'), join(folder, 'allowed/data')], denied: [] };
    policy = mountPolicy(given);
    await put('allowed/data', '/');
    if (when === 'before') policy = mountPolicy(given);
    for (const source of [join(folder, 'elsewhere'), '/usr']) {
      await expect(resolve({ source, target: '/data' })).rejects.toThrow(/not below an allowed folder/);
    }
    expect(await resolve({ source: join(folder, 'allowed'), target: '/data' })).toHaveLength(1);
  });

  test('does not create a root that was missing', async () => {
    policy = mountPolicy({ roots: [join(folder, 'allowed/later/root')], denied: [] });
    await mkdir(join(folder, 'allowed/later/root/in'), { recursive: true });
    expect(await resolve({ source: join(folder, 'allowed/later/root/in'), target: '/data' })).toHaveLength(1);
    await mkdir(join(folder, 'elsewhere/root'));
    await put('allowed/later', join(folder, 'elsewhere'));
    for (const source of ['allowed/later/root', 'elsewhere/root']) {
      await expect(resolve({ source: join(folder, source), target: '/data' })).rejects.toThrow(/not below/);
    }
  });

  test('does not allow a denied folder, and neither does removing a denied link', async () => {
    await put('allowed/hidden', join(folder, 'elsewhere'));
    policy = mountPolicy({ roots: [folder], denied: [join(folder, 'allowed/hidden')] });
    await expect(resolve({ source: join(folder, 'allowed'), target: '/data' })).rejects.toThrow(/never mounted/);
    await rm(join(folder, 'allowed/hidden'));
    await expect(resolve({ source: join(folder, 'elsewhere'), target: '/data' })).rejects.toThrow(/never mounted/);
  });

  test('reveals nothing about the host in the error message', async () => {
    await writeFile(join(folder, 'elsewhere/file'), '');
    const answers = ['elsewhere', 'elsewhere/file', 'elsewhere/nothing', 'nowhere/at/all'].flatMap((name, index) =>
      ['', '/in'].map(async (below) => {
        if (below === '') await put(`allowed/link${index}`, join(folder, name));
        else await put(`allowed/data${index}`, join(folder, name));
        const source = join(folder, `allowed/${below === '' ? 'link' : 'data'}${index}${below}`);
        return resolve({ source, target: '/data' }).catch(({ message }: Error) => message.replace(source, '…'));
      }),
    );
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['…: not below an allowed folder']));
  });
});

test('a folder nested too deep is denied, and so are too many mounts', async () => {
  const deep = join(folder, 'allowed/data', ...Array.from({ length: 64 }, () => 'd'));
  await mkdir(deep, { recursive: true });
  await expect(resolve({ source: deep, target: '/data' })).rejects.toThrow(/more than 64 folders/);
  const source = join(folder, 'allowed/data');
  const many = Array.from({ length: 65 }, (_, index) => ({ source, target: `/data/${index}` }));
  await expect(resolve(...many)).rejects.toThrow(/at most 64/);
});

describe('a mount inside another', () => {
  const inside = async (target: string, readOnly: boolean) => {
    await mkdir(join(folder, 'allowed/data/there'));
    await symlink('/oldroot/tmp', join(folder, 'allowed/data/link'));
    await writeFile(join(folder, 'allowed/data/file'), '');
    await mkdir(join(folder, 'allowed/more'));
    return resolve(
      { source: join(folder, 'allowed/data'), target: '/data', readOnly },
      { source: join(folder, 'allowed/more'), target },
    );
  };

  test('uses a folder that exists in the other', async () => {
    expect(await inside('/data/there', true)).toHaveLength(2);
  });

  test('has its folder created if the other is writable', async () => {
    expect(await inside('/data/there/new/deep', false)).toHaveLength(2);
  });

  test.each<[string, string, boolean, RegExp]>([
    ['on a link', '/data/link', false, /not a folder/],
    ['beyond a link', '/data/link/new', false, /not a folder/],
    ['beyond a link, read-only', '/data/link/new', true, /not a folder/],
    ['on a file', '/data/file', false, /not a folder/],
    ['where nothing is and nothing can be made', '/data/new', true, /and is read-only/],
  ])('is denied %s', async (_where, target, readOnly, message) => {
    await expect(inside(target, readOnly)).rejects.toMatchObject({
      code: 'mount_denied',
      message: expect.stringMatching(message) as string,
    });
  });
});

describe('a mount is denied', () => {
  test.each<[string, string, RegExp]>([
    ['outside of every root', 'elsewhere', /not below an allowed folder/],
    ['whose name only begins like a root', 'allowed-too', /not below an allowed folder/],
    ['by way of ..', 'allowed/../elsewhere', /not below an allowed folder/],
    ['through a link that leads out', 'allowed/out', /not below an allowed folder/],
    ['through a link in the middle', 'allowed/up/elsewhere', /not below an allowed folder/],
    ['of a denied folder', 'allowed/secret', /which is never mounted/],
    ['of what lies in a denied folder', 'allowed/secret/keys', /which is never mounted/],
    ['of what holds a denied folder', 'allowed', /which is never mounted/],
    ['through a link to a denied folder', 'allowed/hidden', /which is never mounted/],
    ['of a file', 'allowed/file', /not a folder/],
    ['of nothing', 'allowed/nothing', /there is no such folder/],
  ])('%s', async (_what, source, message) => {
    await mkdir(join(folder, 'allowed-too'));
    await writeFile(join(folder, 'allowed/file'), '');
    await symlink(join(folder, 'elsewhere'), join(folder, 'allowed/out'));
    await symlink(folder, join(folder, 'allowed/up'));
    await symlink(join(folder, 'allowed/secret/keys'), join(folder, 'allowed/hidden'));
    const mounting = resolve({ source: `${folder}/${source}`, target: '/data' });
    await expect(mounting).rejects.toMatchObject({ code: 'mount_denied', message: expect.stringMatching(message) });
  });

  test('outside of every root with the same message, whether it is a folder, a file or missing, so that nothing is revealed', async () => {
    await writeFile(join(folder, 'elsewhere/file'), '');
    const answers = ['elsewhere', 'elsewhere/file', 'elsewhere/nothing', 'nowhere/at/all'].map(async (name) => {
      const source = join(folder, name);
      const error = await resolve({ source, target: '/data' }).then(
        () => undefined,
        ({ message, remedy }: HotcellError) => `${message} → ${remedy}`,
      );
      return error?.replaceAll(source, '…');
    });
    expect(new Set(await Promise.all(answers)).size).toBe(1);
  });

  test('if no root is allowed', async () => {
    policy = { ...policy, roots: [] };
    await expect(resolve({ source: join(folder, 'allowed/data'), target: '/data' })).rejects.toMatchObject({
      code: 'mount_denied',
    });
  });

  test.each([
    ...[
      '/',
      '/proc',
      '/mnt',
      '/mnt/hotcell',
      '/hotcell_guest',
      '/sys/x',
      '/dev',
      '/etc',
      '/usr/lib',
      '/bin',
      '/lib64',
      '/run/x',
      '/opt',
      '/tmp',
      '/var/lib',
    ],
    ...[
      '/mnt/hotcell/0',
      'data',
      '',
      '/data/../etc',
      '/da ta',
      '/data\n',
      '/data//x',
      '/./data',
      `/${'x'.repeat(300)}`,
    ],
  ])('at %j', async (target) => {
    await expect(resolve({ source: join(folder, 'allowed/data'), target })).rejects.toMatchObject({
      code: 'mount_denied',
    });
  });

  test('at a target that is taken by another', async () => {
    const source = join(folder, 'allowed/data');
    await expect(resolve({ source, target: '/data' }, { source, target: '/data/' })).rejects.toMatchObject({
      message: 'two mounts have the same target',
    });
  });
});

test.each(['/workspace', '/workspace/in', '/mnt/data', '/tmp/in', '/data/a.b-c_d'])(
  '%s is a good target',
  async (target) => {
    expect(await resolve({ source: join(folder, 'allowed/data'), target })).toMatchObject([{ target }]);
  },
);

async function resolve(...requests: MountRequest[]): Promise<readonly Mount[]> {
  const { mounts, folders } = await resolveMounts(requests, policy);
  for (const folder of folders) await folder.close();
  return mounts;
}

test.each([
  ['below a root', ['/srv/a'], true],
  ['outside the roots', ['/srv/a', '/opt/b'], false],
  ['denied', ['/srv/secret/c'], true],
  ['denied, and another outside the roots', ['/opt/b', '/srv/secret'], true],
  ['above what is denied, and outside the roots', ['/'], true],
  ['nowhere: there are none', [], true],
])('a session that another server left, with mounts that are %s', (_where, sources, expected) => {
  const policy = { roots: ['/srv'], denied: ['/srv/secret'] };
  expect(
    concernsPolicy(
      sources.map((source) => ({ source, readOnly: true })),
      policy,
    ),
  ).toBe(expected);
});

describe('a path that the server itself runs, loads or writes', () => {
  const relied = () => [join(folder, 'allowed/app/dist'), join(folder, 'allowed/logs/hotcell.log')];
  const secret = () => [join(folder, 'allowed/run')];
  beforeEach(async () => {
    for (const name of ['app/dist/chunks', 'app/data', 'logs/other', 'run/jails']) {
      await mkdir(join(folder, 'allowed', name), { recursive: true });
    }
    policy = mountPolicy({ roots: [join(folder, 'allowed')], denied: [], inUse: { relied, secret } });
  });
  const mount = (name: string, readOnly: boolean) =>
    resolve({ source: join(folder, 'allowed', name), target: '/data', readOnly });

  test.each(['app', 'app/dist', 'app/dist/chunks', 'logs'])('is not mounted writable: %j', async (name) => {
    await expect(mount(name, false)).rejects.toMatchObject({
      code: 'mount_denied',
      remedy: expect.stringMatching(/^Mount it read-only/) as string,
    });
  });

  test('is mounted read-only, and folders beside it writable', async () => {
    for (const name of ['app', 'app/dist', 'logs']) expect(await mount(name, true)).toHaveLength(1);
    for (const name of ['app/data', 'logs/other']) expect(await mount(name, false)).toHaveLength(1);
  });

  test.each([true, false])('is not mounted at all if servers listen there (read-only: %j)', async (readOnly) => {
    for (const name of ['', 'run', 'run/jails'])
      await expect(mount(name, readOnly)).rejects.toMatchObject({ code: 'mount_denied' });
  });

  test('is found through links, also through one on its path', async () => {
    await symlink(join(folder, 'allowed/app'), join(folder, 'allowed/link'));
    await expect(mount('link', false)).rejects.toMatchObject({ code: 'mount_denied' });
    await mkdir(join(folder, 'allowed/bin'));
    await symlink(join(folder, 'elsewhere'), join(folder, 'allowed/bin/program'));
    policy = mountPolicy({
      ...{ roots: [join(folder, 'allowed')], denied: [] },
      inUse: { secret, relied: () => [join(folder, 'allowed/bin/program')] },
    });
    await expect(mount('bin', false)).rejects.toMatchObject({ code: 'mount_denied' });
  });

  test.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
    'is found by device and inode where the host has it mounted twice',
    async () => {
      await mkdir(join(folder, 'allowed/twice'));
      execFileSync('mount', ['--bind', join(folder, 'allowed/app'), join(folder, 'allowed/twice')]);
      try {
        for (const name of ['twice', 'twice/dist', 'twice/dist/chunks'])
          await expect(mount(name, false)).rejects.toMatchObject({ code: 'mount_denied' });
        expect(await mount('twice/data', false)).toHaveLength(1);
      } finally {
        execFileSync('umount', [join(folder, 'allowed/twice')]);
      }
    },
  );
});

describe.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
  'a home of another user that the host has at two paths: a bind mount per home, as autofs makes them',
  () => {
    const alice = 61_842;
    const at = (name: string) => join(folder, 'allowed', name);
    const mount = (name: string) => resolve({ source: at(name), target: '/data' });
    beforeEach(async () => {
      for (const name of ['export/alice/.ssh', 'export/alice/private/x', 'export/alice/work', 'home/alice'])
        await mkdir(at(name), { recursive: true });
      for (const name of ['', '/.ssh', '/private', '/work']) await chown(at(`export/alice${name}`), alice, alice);
      execFileSync('mount', ['--bind', at('export/alice'), at('home/alice')]);
      const denied = ['.ssh', '.aws', 'private'].map((name) => at(`home/alice/${name}`));
      policy = mountPolicy({ roots: [at('')], denied });
    });
    afterEach(() => {
      execFileSync('umount', [at('home/alice')]);
    });

    test.each(['', '/.ssh', '/private', '/private/x'])('is denied at both: %j', async (name) => {
      for (const home of ['home', 'export'])
        await expect(mount(`${home}/alice${name}`)).rejects.toMatchObject({ code: 'mount_denied' });
    });

    test('is denied for folders that were created, or created again, since the server started', async () => {
      await rename(at('export/alice/.ssh'), at('export/alice/.ssh-old'));
      for (const name of ['.ssh', '.aws']) {
        await mkdir(at(`export/alice/${name}`));
        await expect(mount(`export/alice/${name}`)).rejects.toMatchObject({ code: 'mount_denied' });
      }
    });

    test('is mounted where nothing of it is denied', async () => {
      for (const home of ['home', 'export']) expect(await mount(`${home}/alice/work`)).toHaveLength(1);
    });
  },
);

describe.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
  'a folder that the host shows at two paths',
  () => {
    const at = (name: string) => join(folder, 'allowed', name);
    const bound: string[] = [];
    const bind = async (from: string, to: string) => {
      for (const name of [from, to]) await mkdir(at(name), { recursive: true });
      execFileSync('mount', ['--bind', at(from), at(to)]);
      bound.push(at(to));
    };
    const mount = (name: string, readOnly = true) => resolve({ source: at(name), target: '/data', readOnly });
    afterEach(() => {
      for (const point of bound.splice(0).reverse()) execFileSync('umount', [point]);
    });

    test('is denied from above the second path, if a folder in it is denied', async () => {
      await mkdir(at('disk/home/bob/.ssh'), { recursive: true });
      policy = mountPolicy({ roots: [at('')], denied: [at('home/bob/.ssh')] });
      expect(await mount('disk')).toHaveLength(1); // the attack, where the second path is another folder
      await bind('disk/home', 'home');
      await expect(mount('disk')).rejects.toThrow(/never mounted/);
      expect(await mount('data')).toHaveLength(1);
    });

    test('is denied from above a path at which a part of a denied folder is bound', async () => {
      policy = mountPolicy({ roots: [at('')], denied: [at('secret')] });
      await bind('secret/keys', 'srv/part');
      for (const name of ['srv', 'srv/part']) await expect(mount(name)).rejects.toThrow(/never mounted/);
    });

    test('is not mounted writable from above the second path, if the server relies on a folder in it', async () => {
      const inUse = { secret: () => [], relied: () => [at('opt/hotcell')] };
      policy = mountPolicy({ roots: [at('')], denied: [], inUse });
      await bind('disk/opt', 'opt');
      await expect(mount('disk', false)).rejects.toThrow(/never mounted writable/);
      expect(await mount('disk')).toHaveLength(1);
    });

    test('is mounted twice, but not inside a writable mount of its other path', async () => {
      policy = mountPolicy({ roots: [at('')], denied: [] });
      await bind('disk/home', 'home');
      await mkdir(at('disk/home/bob'));
      const both = (one: string, other: string) =>
        resolve(
          { source: at(one), target: '/one', readOnly: false },
          { source: at(other), target: '/other', readOnly: false },
        );
      expect(await both('home/bob', 'disk/home/bob')).toHaveLength(2);
      await expect(both('disk', 'home/bob')).rejects.toThrow(/inside a writable mount/);
    });
  },
);

test('a folder that gets the inode number of a denied one that was removed is mounted', async () => {
  const secrets = Array.from({ length: 8 }, (_, index) => join(folder, `allowed/home/.secret${index}`));
  for (const path of secrets) await mkdir(path, { recursive: true });
  policy = mountPolicy({ roots: [join(folder, 'allowed')], denied: secrets });
  for (const path of secrets) await rm(path, { recursive: true });
  for (let index = 0; index < 16; index += 1) {
    const source = join(folder, `allowed/new${index}`);
    await mkdir(source);
    expect(await resolve({ source, target: '/data' })).toHaveLength(1);
  }
});

test('keys are denied in a home that is added later and reached through a link', async () => {
  const homes: Home[] = [];
  policy = mountPolicy({ roots: [folder], denied: [], deniedLater: () => keysInHomes(homes) });
  const mount = (name: string) => resolve({ source: join(folder, name), target: '/data' });
  await mkdir(join(folder, 'allowed/carol/.ssh'), { recursive: true });
  await mkdir(join(folder, 'home'));
  await symlink(join(folder, 'allowed/carol'), join(folder, 'home/carol'));
  expect(await mount('allowed/carol/.ssh')).toHaveLength(1); // she is no user yet
  homes.push({ path: join(folder, 'home/carol'), isPerson: true });
  for (const name of ['home/carol/.ssh', 'allowed/carol/.ssh', 'allowed/carol', 'allowed'])
    await expect(mount(name)).rejects.toThrow(/never mounted/);
  expect(await mount('allowed/data')).toHaveLength(1);
});

test('keys are denied in homes of a folder that is itself a link', async () => {
  await mkdir(join(folder, 'allowed/dave/.ssh'), { recursive: true });
  await symlink(join(folder, 'allowed'), join(folder, 'homes'));
  const deniedLater = () => keysInHomes([{ path: join(folder, 'homes/dave'), isPerson: true }]);
  policy = mountPolicy({ roots: [folder], denied: [], deniedLater });
  const mounting = resolve({ source: join(folder, 'allowed/dave/.ssh'), target: '/data' });
  await expect(mounting).rejects.toThrow(/never mounted/);
});

test('a folder that is denied since the server started is not mounted, nor what is in it or above it', async () => {
  let later: string[] = [];
  policy = mountPolicy({ roots: [join(folder, 'allowed')], denied: [], deniedLater: () => later });
  const mount = (name: string) => resolve({ source: join(folder, name), target: '/data' });
  expect(await mount('allowed/data')).toHaveLength(1);
  later = [join(folder, 'allowed/data/.ssh')];
  await mkdir(join(folder, 'allowed/data/.ssh'), { recursive: true });
  for (const name of ['allowed', 'allowed/data', 'allowed/data/.ssh'])
    await expect(mount(name)).rejects.toMatchObject({ code: 'mount_denied' });
});
