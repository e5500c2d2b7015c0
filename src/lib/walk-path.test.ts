import { mkdirSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isTooLong, MOST_NAMES, walkPath } from './walk-path.ts';

let folder: string;
const at = (name: string) => join(folder, name);

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'hotcell-walk-')));
  await mkdir(at('a/b'), { recursive: true });
  await writeFile(at('a/file'), '');
  const links = { up: '..', far: at('a/b'), more: 'far/../file', dangling: 'nothing/at/all', self: 'self' };
  for (const [name, target] of Object.entries(links)) await symlink(target, at(`a/${name}`));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

it.each([
  ['a/b', 'a/b'],
  ['a/../a/b/', 'a/b'],
  ['a/far', 'a/b'],
  ['a/up/a/up/a/far', 'a/b'],
  ['a/more', 'a/file'],
])('follows %s', async (path, place) => {
  const walked = await walkPath(`${folder}/${path}`);
  expect(walked).toMatchObject({ kind: 'found', place: at(place) });
  expect(walked.place).toBe(await realpath(at(path)));
});

it.each([
  ['a/none', 'a/none'],
  ['a/none/deeper', 'a/none'],
  ['a/far/none/deeper', 'a/b/none'],
  ['a/file/none', 'a/file/none'],
  ['a/dangling', undefined], // what a link leads to is not told
  ['a/dangling/x', undefined],
  ['a/self', undefined],
])('finds the first missing name of %s', async (path, place) => {
  expect(await walkPath(at(path))).toEqual({ kind: 'missing', place: place === undefined ? undefined : at(place) });
});

it('enters no folder that is opaque, by path or by a link', async () => {
  const looked: string[] = [];
  const options = { opaque: new Set([at('a/b')]), onName: (path: string) => void looked.push(path) };
  for (const path of ['a/b/x/y', 'a/far/x/y'])
    expect(await walkPath(at(path), options)).toEqual({ kind: 'opaque', place: at('a/b/x/y') });
  expect(looked.filter((path) => path.startsWith(at('a/b')))).toEqual([]);
});

it('walks the root itself', async () => {
  expect(await walkPath('/')).toMatchObject({ kind: 'found', place: '/' });
});

describe('a path that code in a sandbox made to be long', () => {
  const count = async (path: string) => {
    const names: string[] = [];
    const walked = await walkPath(path, { onName: (name) => void names.push(name) });
    expect(walked).toEqual({ kind: 'missing', place: undefined });
    return names.length;
  };

  it('through links is left after as many names as a path may have in all', async () => {
    for (let index = 0; index < 40; index += 1)
      await symlink(`${'b/../'.repeat(100)}${index < 39 ? `l${index + 1}` : 'b'}`, at(`a/l${index}`));
    await realpath(at('a/l0')); // it exists: realpath walks through 4,000 names
    expect(await count(at('a/l0'))).toBeLessThanOrEqual(MOST_NAMES);
    expect(await count(at('a/l0/n/n/n/n'))).toBeLessThanOrEqual(MOST_NAMES);
    expect(await count(at('a/self'))).toBeLessThanOrEqual(MOST_NAMES);
  });

  it('through a deep folder is not looked at', async () => {
    const deep = at(`a${'/x'.repeat(300)}`);
    mkdirSync(deep, { recursive: true });
    expect(isTooLong(deep)).toBe(true);
    expect(isTooLong(`/${'x'.repeat(5_000)}`)).toBe(true);
    expect(isTooLong(at('a/b'))).toBe(false);
    expect(await count(deep)).toBe(0);
    await symlink(`../${'x/'.repeat(300)}`, at('a/b/link'));
    expect(await count(at('a/b/link'))).toBeLessThan(20);
  });

  it('is left when its signal is aborted', async () => {
    const stop = new AbortController();
    const looked: string[] = [];
    const onName = (path: string) => {
      looked.push(path);
      if (path === at('a')) stop.abort(new Error('enough'));
    };
    await expect(walkPath(at('a/b'), { signal: stop.signal, onName })).rejects.toThrow('enough');
    expect(looked.at(-1)).toBe(at('a'));
  });
});
