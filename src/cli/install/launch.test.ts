import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isOwnEntry, launchOf } from './launch.ts';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'hc-launch-')));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function npxCache(resolved: string): string {
  const modules = join(folder, '_npx', '0123', 'node_modules');
  mkdirSync(join(modules, 'hotcell'), { recursive: true });
  const packages = { 'node_modules/hotcell': { resolved } };
  writeFileSync(join(modules, '.package-lock.json'), JSON.stringify({ packages }));
  return join(modules, 'hotcell');
}

it.each([
  ['https://registry.example/hotcell/-/hotcell-0.1.0.tgz', 'npm install -g hotcell@0.1.0'],
  ['file:../hotcell-0.1.0.tgz', 'npm install -g hotcell-<version>.tgz'],
  ['git+ssh://git@github.com/hotcell/hotcell.git#abc', 'npm install -g hotcell-<version>.tgz'],
  ['', 'npm install -g hotcell-<version>.tgz'],
])('refuses in the cache of npx, and names the installation that stays: %s', (resolved, command) => {
  const place = { node: '/opt/node/bin/node', root: npxCache(resolved), version: '0.1.0' };
  expect(() => launchOf(place)).toThrow(
    expect.objectContaining({
      message: expect.stringContaining('in the cache of npx'),
      remedy: expect.stringContaining(`(${command})`),
    }),
  );
});

it.skipIf(process.platform === 'win32')('refuses Node or a package where other users can create files later', () => {
  const mine = join(folder, 'mine');
  const shared = join(folder, 'shared');
  for (const path of [mine, shared]) mkdirSync(join(path, 'bunx-0-hotcell/node_modules/hotcell'), { recursive: true });
  chmodSync(shared, 0o1777);
  symlinkSync(shared, join(mine, 'link'));
  const root = join(shared, 'bunx-0-hotcell/node_modules/hotcell');
  const places = [
    { root },
    { root: join(mine, 'link/bunx-0-hotcell/node_modules/hotcell') },
    { node: join(shared, 'node') },
  ];
  for (const place of places)
    expect(() =>
      launchOf({ node: '/bin/node', root: '/usr/lib/node_modules/hotcell', version: '0.1.0', ...place }),
    ).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/ is below \S+\/(shared|link), where other users can create files$/),
        remedy: expect.stringContaining('npm install -g hotcell@0.1.0'),
      }),
    );
});

it('warns of a clone, and not of an installed package', () => {
  const clone = launchOf({ node: '/opt/node/bin/node', root: '/home/me/hotcell', version: '0.1.0' });
  expect(clone).toMatchObject({ args: ['/home/me/hotcell/dist/cli.js'], warning: expect.stringContaining('clone') });
  const installed = launchOf({ node: '/bin/node', root: '/usr/lib/node_modules/hotcell', version: '0.1.0' });
  expect(installed).toEqual({ command: '/bin/node', args: ['/usr/lib/node_modules/hotcell/dist/cli.js'] });
});

it('knows its own entries by their form', () => {
  expect(isOwnEntry({ command: '/bin/node', args: ['/x/dist/cli.js', 'mcp', '--memory', '4g'] })).toBe(true);
  expect(isOwnEntry({ command: 'npx', args: ['-y', 'hotcell@0.1.0', 'mcp'] })).toBe(true);
  for (const other of [undefined, 'x', { command: 'hotcell', args: ['mcp'] }, { url: 'http://x' }, { args: 'mcp' }])
    expect(isOwnEntry(other)).toBe(false);
});
