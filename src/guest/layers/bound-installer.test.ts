import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bindInstaller, removeInstaller } from './bound-installer.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hotcell-installer-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function sandbox(name: string): { folder: string; makeIn: string } {
  mkdirSync(join(home, name));
  return { folder: join(home, name), makeIn: home };
}

it('gives each sandbox the programs and the hooks, readable for its user, and leaves nothing else behind', async () => {
  const [one, two] = [sandbox('one'), sandbox('two')];
  await Promise.all([bindInstaller(one), bindInstaller(two)]);
  await bindInstaller(one);
  for (const { folder } of [one, two]) {
    expect(readdirSync(folder).sort()).toEqual(['0000', 'bin', 'hooks']);
    expect(readdirSync(join(folder, 'bin')).sort()).toEqual(['npm', 'pip', 'pip3', 'uv']);
    expect(readlinkSync(join(folder, 'bin/pip'))).toBe('../0000/bin/pip');
    expect(statSync(join(folder, 'bin/uv')).mode & 0o777).toBe(0o755);
    expect(statSync(join(folder, '0000/installer/run.py')).mode & 0o777).toBe(0o644);
    expect(readFileSync(join(folder, 'hooks/hotcell_layers.py'), 'utf8')).toMatch(/\nhand_over_to_installer\(\)\n$/);
  }
  expect(readdirSync(home).sort()).toEqual(['installer', 'one', 'two']);
});

it('takes them away again from a sandbox that may not install, but not a program of a package', async () => {
  const one = sandbox('one');
  removeInstaller(one);
  await bindInstaller(one);
  symlinkSync('../0001/bin/uv', join(home, 'link'));
  renameSync(join(home, 'link'), join(one.folder, 'bin/uv'));
  removeInstaller(one);
  removeInstaller(one);
  expect(readdirSync(one.folder).sort()).toEqual(['bin', 'hooks']);
  expect(readdirSync(join(one.folder, 'bin'))).toEqual(['uv']);
});
