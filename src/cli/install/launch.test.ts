import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isOwnEntry, launchOf } from './launch.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hc-launch-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function npxCache(resolved: string): string {
  const modules = join(folder, '_npx', '0123', 'node_modules');
  mkdirSync(join(modules, 'hotcell'), { recursive: true });
  const packages = { 'node_modules/hotcell': { resolved } };
  writeFileSync(join(modules, '.package-lock.json'), JSON.stringify({ packages }));
  return join(modules, 'hotcell');
}

it('from the cache of npx, starts the same version by npx, which fetches it again', () => {
  const root = npxCache('https://registry.npmjs.org/hotcell/-/hotcell-0.1.0.tgz');
  expect(launchOf({ node: '/opt/node/bin/node', root, version: '0.1.0' })).toEqual({
    command: 'npx',
    args: ['-y', 'hotcell@0.1.0'],
  });
});

it.each(['file:../hotcell-0.1.0.tgz', 'git+ssh://git@github.com/hotcell/hotcell.git#abc', ''])(
  'from the cache of npx, refuses where no registry has it: %s',
  (resolved) => {
    expect(() => launchOf({ node: '/opt/node/bin/node', root: npxCache(resolved), version: '0.1.0' })).toThrow(
      /in the cache of npx/,
    );
  },
);

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
