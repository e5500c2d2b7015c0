import { describe, expect, it } from 'vitest';
import type { ImageDescription } from './engine-image.ts';
import { type ImageFile, type ImageFiles, walk } from './image-files.ts';
import { findPython } from './image-python.ts';
import { hasNumberAsName, reviewImage } from './image-review.ts';

/** Values that begin with `->` are links, `program` and `#!` begin an executable file, `folder` is an empty one, other values are contents. Folders with something in them follow from the paths. */
function filesOf(tree: Readonly<Record<string, string>>): ImageFiles {
  const at = (path: string): ImageFile | undefined => {
    const value = tree[path];
    if (value?.startsWith('->')) return { kind: 'link', target: value.slice(2) };
    if (value === 'folder') return { kind: 'folder' };
    if (value !== undefined) return { kind: 'file', isExecutable: /^(program$|#!)/.test(value), size: value.length };
    return holds(path) ? { kind: 'folder' } : undefined;
  };
  const holds = (path: string) => Object.keys(tree).some((other) => other.startsWith(`${path}/`));
  return {
    at: async (path) => at(path),
    read: async (path) => Buffer.from(tree[path] ?? ''),
    isEmpty: async (path) => !holds(path),
  };
}

const USUAL = { '/usr/bin/python3': '->python3.12', '/usr/bin/python3.12': 'program', '/etc/group': 'root:x:0:\n' };

describe('a path inside an image', () => {
  it('is resolved as the kernel does, and every link on it is reported', async () => {
    const files = filesOf({ '/a': '->b/c', '/b/c': '->../d', '/d/e': 'program' });
    expect(await walk(files, '/a/e')).toEqual({
      ...{ path: '/d/e', kind: 'file', isExecutable: true },
      links: ['/a', '/b/c'],
    });
  });

  it.each([
    [{ '/a': '->/a' }, '/a', 'blocked'],
    [{ '/a': 'file' }, '/a/b', 'blocked'],
    [{ '/a': '->/nowhere' }, '/a/b', 'absent'],
    [{ '/a': '->../../../d', '/d/e': '' }, '/a', 'folder'],
  ])('of %j at %s is %s', async (tree, path, kind) => {
    expect((await walk(filesOf(tree as never), path)).kind).toBe(kind);
  });
});

describe("an image's Python", () => {
  it('is the first on the search path that is a program and is not covered', async () => {
    const tree = { ...USUAL, '/tmp/bin/python3': 'program', '/app/python3': 'no program' };
    const found = await findPython(filesOf(tree), '/tmp/bin:relative:/app:/usr/bin', ['/tmp']);
    expect(found?.program).toBe('/usr/bin/python3');
    expect(await findPython(filesOf(tree), '/bin', [])).toBeUndefined();
  });

  it('starts from the links that lead to it, its prefix, and the installation of its virtual environment', async () => {
    const tree = {
      '/app/venv/bin/python3': 'program',
      '/app/venv/pyvenv.cfg': 'home = /base/now/bin\n',
      '/base/now': '->/base/1',
      '/base/1/bin/python3': 'program',
    };
    const found = await findPython(filesOf(tree), '/app/venv/bin', []);
    expect(found?.startsFrom).toEqual(expect.arrayContaining(['/app/venv', '/base/now', '/base/1']));
  });

  it.each([
    ['HOME = /mounted/bin', '/mounted'],
    ['\x1cHome\x85=/mounted/bin\x1f', '/mounted'],
    ['home = mounted/bin\nhome = /usr/bin', '/mounted'],
    ['homely = /usr/bin\nhome=/mounted/bin\nhome = /usr/bin', '/mounted'],
  ])('starts from the installation that its settings name as %j', async (settings, prefix) => {
    const tree = { '/app/venv/bin/python3': 'program', '/app/venv/pyvenv.cfg': settings };
    const found = await findPython(filesOf(tree), '/app/venv/bin', []);
    expect(found?.startsFrom).toContain(prefix);
    expect(found?.startsFrom).not.toContain('/usr');
  });
});

describe('the review of an image', () => {
  const image = (change: Partial<ImageDescription> = {}): ImageDescription => ({
    ...{ name: 'i', id: '1', volumes: [], path: '/usr/bin', variables: [], labels: [] },
    ...change,
  });
  const review = (tree: object, targets: string[] = [], change: Partial<ImageDescription> = {}) =>
    reviewImage(image(change), filesOf({ ...USUAL, ...tree }), {
      memory: ['/workspace', '/tmp'],
      mounts: targets.map((target) => ({ target })),
    });

  it('accepts an ordinary image, with a mount at a new path and one below the workspace', async () => {
    const python = await review({ '/workspace/data': '->/proc' }, ['/data/new', '/workspace/data']);
    expect(python?.program).toBe('/usr/bin/python3');
  });

  it.each([
    ['a link at a place', { '/workspace': '->/srv' }, [], {}],
    ['a link above a target', { '/data': '->/proc/self' }, ['/data/x'], {}],
    ['a file at a target', { '/data': '' }, ['/data'], {}],
    ['a link in the place of /proc', { '/proc': '->/data' }, [], {}],
    ['a group whose name is a number', { '/etc/group': 'root:x:0:\n1000:x:4:\n' }, [], {}],
    ['a volume below a target', {}, ['/data'], { volumes: ['/data/deep'] }],
    ['a target above the search path', {}, ['/app'], { path: '/app/bin:/usr/bin' }],
    ['a target below the search path', {}, ['/app/bin/x'], { path: '/app/bin:/usr/bin' }],
  ])('refuses %s', async (_, tree, targets, change) => {
    await expect(review(tree, targets, change)).rejects.toMatchObject({
      code: expect.stringMatching(/start_failed|mount_denied/),
    });
  });

  /** The layout of pyenv: a script starts an interpreter in another folder. */
  const shims = {
    '/home/app/.pyenv/shims/python3': '#!/bin/sh\n',
    '/home/app/.pyenv/versions/3/bin/python3': 'program',
    '/home/app/.pyenv/plugins': 'folder',
  };
  const shimmed = { path: '/home/app/.pyenv/shims:/usr/bin' };

  it.each([
    ['where the image has files', { '/app/main.py': '' }, '/app', {}],
    ['above where the image has files', { '/srv/deep/er/file': '' }, '/srv', {}],
    ["at an absent folder that another Python's library may be in", shims, '/home/app/.pyenv/versions/3/lib/x.zip', {}],
    ['at the interpreter that a script starts', shims, '/home/app/.pyenv/versions/3', shimmed],
    ['at an empty folder beside a script', shims, '/home/app/.pyenv/plugins', shimmed],
    ['at an absent folder beside a script', shims, '/home/app/.pyenv/plugins/new', shimmed],
    ['in the home folder of a script', shims, '/tmp/.asdf', shimmed],
    [
      'where a script may have its interpreter',
      { ...shims, '/data/python/bin/python3': 'program' },
      '/data/new',
      shimmed,
    ],
  ])('refuses a mount %s', async (_, tree, target, change) => {
    await expect(review(tree, [target], change)).rejects.toMatchObject({
      code: 'mount_denied',
      remedy: expect.stringContaining('/data'),
    });
  });

  it.each([
    ['at an empty folder', { '/app/empty': 'folder', '/app/main.py': '' }, '/app/empty', {}],
    ['at an absent folder beside files', { '/app/main.py': '' }, '/app/new/deep', {}],
    ['below /data, whatever the image has there', { '/data/example.csv': '' }, '/data', {}],
    ['below /mnt', { '/mnt/file': '' }, '/mnt/here', {}],
    ['in memory', { '/tmp/file': '', '/workspace/file': '' }, '/workspace/file', {}],
    ['at a declared volume, which is covered', { '/state/file': '' }, '/state', {}],
    ['at /data beside a script', shims, '/data/x', shimmed],
    ['below the workspace beside a script', { ...shims, '/workspace/file': '' }, '/workspace/x', shimmed],
  ])('allows a mount %s', async (why, tree, target, change) => {
    const volumes = why.includes('volume') ? [target] : [];
    await expect(review(tree, [target], { volumes, ...change })).resolves.toBeDefined();
  });

  it.each([
    ['1000:x:4:', true],
    [' 1000 :x:4:', true],
    ['\u00851000:x:4:', true],
    ['user1000:x:4:', false],
    ['# a comment', false],
    ['', false],
  ])('takes the name of %j for a number: %s', (line, is) => {
    expect(hasNumberAsName(line)).toBe(is);
  });
});
