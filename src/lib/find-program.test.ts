import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findOnSearchPath, findProgram, placesOfPrograms } from './find-program.ts';
import { programFolders } from './program-folders.ts';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'hotcell-programs-')));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(place: string, name = 'hotcell-none'): string {
  mkdirSync(join(folder, place), { recursive: true });
  const path = join(folder, place, name);
  writeFileSync(path, '#!/bin/sh\n');
  chmodSync(path, 0o755);
  return join(folder, place);
}

function find(path: string, options: { from?: string; active?: string; root?: string } = {}): string | undefined {
  const { from = 'home', active, root } = options;
  mkdirSync(join(folder, from), { recursive: true });
  const virtualEnvironment = active && join(folder, active);
  return findProgram('hotcell-none', path, {
    cwd: join(folder, from),
    home: join(folder, 'home'),
    virtualEnvironment,
    ...(root && { mountRoots: [join(folder, root)] }),
  });
}

it("prefers the system's program to one on the search path", () => {
  const path = `${put('tools/bin', 'sh')}:/usr/bin`;
  expect(findOnSearchPath('sh', path)).toBe(join(folder, 'tools/bin/sh')); // what a shell runs
  expect(findProgram('sh', path)).toMatch(/^\/(usr\/)?bin\/sh$/);
});

describe('a program that the system lacks', () => {
  it.each([
    'home/.local/bin',
    'home/.nvm/versions/node/v22.1.0/bin',
    'home/.pyenv/shims',
    'home/miniconda3/bin',
    'home/bin',
    'opt/docker/bin',
    'linuxbrew/.linuxbrew/bin',
  ])('is taken from an installation: %s', (place) => {
    for (const from of ['home', 'home/work/app', 'home/.config/app', 'home/.local/share/app'])
      expect(find(`/missing:${put(place)}`, { from })).toBe(join(folder, place, 'hotcell-none'));
  });

  it.each([
    ['home/work/app', 'home/work/app/bin'],
    ['home/work/app/src', 'home/work/app/bin'],
    ['home/work/other', 'home/work/app/bin'],
    ['srv/app', 'srv/app/bin'],
    ['home', 'home/work/app/.venv/bin'],
    ['home', 'srv/app/venv/bin'],
    ['home', 'srv/app/.direnv/python-3.12/bin'],
    ['home', 'srv/app/node_modules/.bin'],
  ])('is not taken from a project, called in %s: %s', (from, place) => {
    const path = put(place);
    expect(find(path, { from })).toBeUndefined();
    const isNamed = /venv|direnv|node_modules/.test(place);
    for (const same of [`${path}/.`, `${path}//`, `${path}/x/..`]) expect(find(same, { from })).toBeUndefined();
    expect(find(path, { from: 'elsewhere' })).toBe(isNamed ? undefined : join(path, 'hotcell-none'));
  });

  it('is not taken from the repository around, in a hidden folder', () => {
    const path = put('home/.worktrees/app/tools');
    expect(find(path, { from: 'home/.worktrees/app/src' })).toBe(join(path, 'hotcell-none'));
    writeFileSync(join(folder, 'home/.worktrees/app/.git'), 'gitdir: elsewhere');
    expect(find(path, { from: 'home/.worktrees/app/src' })).toBeUndefined();
    expect(find(path, { from: 'home/.worktrees/app' })).toBeUndefined();
  });

  it('is not taken from the virtual environment that is activated, nor through a link into a project', () => {
    const path = put('home/work/app/python/bin');
    mkdirSync(join(folder, 'home/links'), { recursive: true });
    symlinkSync(path, join(folder, 'home/tools'));
    symlinkSync(join(path, 'hotcell-none'), join(folder, 'home/links/hotcell-none'));
    const paths = [path, join(folder, 'home/tools'), join(folder, 'home/links')];
    for (const one of paths) expect(find(one)).toBe(join(one, 'hotcell-none'));
    for (const one of paths) expect(find(one, { active: 'home/work/app/python' })).toBeUndefined();
  });

  it('is not taken from a folder that clients may mount, unless that is the whole home', () => {
    const path = put('data/shared/bin');
    expect(find(path)).toBe(join(path, 'hotcell-none'));
    expect(find(path, { root: 'data' })).toBeUndefined();
    expect(find(put('home/.local/bin'), { root: 'home' })).toBeDefined();
  });

  it.skipIf(process.platform === 'win32')('is not taken where other users could place or replace it', () => {
    const path = put('opt/bin');
    expect(find(path)).toBe(join(path, 'hotcell-none'));
    for (const open of [join(path, 'hotcell-none'), path, join(folder, 'opt')]) {
      chmodSync(open, 0o777);
      expect(find(path)).toBeUndefined();
      chmodSync(open, 0o755);
    }
  });

  it('is not searched in the root or in relative folders', () => {
    for (const path of ['/', '//', '.', '']) expect(find(path)).toBeUndefined();
  });
});

describe('folders that programs are taken from', () => {
  it('are none of a project directly below the root', () => {
    const folders = (cwd: string) => programFolders('/etc/ssl:/usr/bin', { cwd, home: '/root' });
    expect(folders('/elsewhere')).toEqual(['/etc/ssl', '/usr/bin']);
    for (const cwd of ['/etc', '/etc/app', '/etc/app/src']) expect(folders(cwd)).toEqual(['/usr/bin']);
  });

  it.skipIf(process.platform === 'win32')('exist, so that no other user can create them', () => {
    const here = { cwd: '/', home: join(folder, 'home') };
    const missing = join(folder, 'later/bin');
    expect(programFolders(missing, here)).toEqual([]);
    mkdirSync(missing, { recursive: true });
    expect(programFolders(missing, here)).toEqual([missing]);
  });
});

it('finds every place that a search in some folder depends on, also a link whose target others can write to', () => {
  const target = put('home/work/app/tools');
  mkdirSync(join(folder, 'home/bin'));
  symlinkSync(join(target, 'hotcell-none'), join(folder, 'home/bin/hotcell-none'));
  chmodSync(join(target, 'hotcell-none'), 0o777);
  const here = { cwd: join(folder, 'home/work/app'), home: join(folder, 'home') };
  const path = `${join(folder, 'home/bin')}:${target}:${join(folder, 'missing')}:${put('home/work/app/.venv/bin')}`;
  const found = placesOfPrograms(['hotcell-none'], path, here).filter((place) => place.startsWith(folder));
  expect(found.map((place) => place.slice(folder.length + 1))).toEqual([
    ...['home/bin', 'home/work/app/tools', 'missing'],
    ...['home/bin/hotcell-none', 'home/work/app/tools/hotcell-none'],
  ]);
});
