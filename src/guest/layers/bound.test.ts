import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bindLayer } from './bound.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hotcell-bound-'));
  mkdirSync(join(home, 'sandbox'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const bind = (tree: string) => bindLayer({ folder: join(home, 'sandbox'), makeIn: home }, tree);

it('hard-links files, so that a second session costs no space, and makes folders and links of its own', async () => {
  const tree = treeOf('one', { 'python/pkg/a.py': 'x = 1', 'bin/tool': 'run' });
  expect(await bind(tree)).toBe('0001');
  const there = join(home, 'sandbox', '0001', 'python/pkg/a.py');
  expect(statSync(there).ino).toBe(statSync(join(tree, 'python/pkg/a.py')).ino);
  expect(statSync(dirname(there)).ino).not.toBe(statSync(join(tree, 'python/pkg')).ino);
  expect(readlinkSync(join(home, 'sandbox/bin/tool'))).toBe('../0001/bin/tool');
});

it('is readable for the user of a sandbox', async () => {
  await bind(treeOf('one', { 'python/pkg/a.py': 'x = 1', 'bin/tool': 'run', 'node_modules/@s/x/index.js': '' }));
  for (const path of ['0001', '0001/python/pkg', 'bin', 'hooks', 'node_modules/@s']) {
    expect(statSync(join(home, 'sandbox', path)).mode & 0o777, path).toBe(0o755);
  }
  expect(statSync(join(home, 'sandbox/hooks/hotcell_layers.py')).mode & 0o777).toBe(0o644);
});

it('numbers layers, and lets a later one replace the programs and packages of an earlier', async () => {
  await bind(treeOf('one', { 'bin/tool': '1', 'bin/other': '1', 'node_modules/x/index.js': '1' }));
  expect(await bind(treeOf('two', { 'bin/tool': '2', 'node_modules/x/index.js': '2' }))).toBe('0002');
  const sandbox = join(home, 'sandbox');
  expect(readFileSync(join(sandbox, 'bin/tool'), 'utf8')).toBe('2');
  expect(readFileSync(join(sandbox, 'bin/other'), 'utf8')).toBe('1');
  expect(readlinkSync(join(sandbox, 'node_modules/x'))).toBe('/opt/hotcell/layers/0002/node_modules/x');
  expect(readdirSync(sandbox).sort()).toEqual(['0001', '0002', 'bin', 'hooks', 'node_modules']);
});

it('leaves nothing behind of a tree that is refused, neither in the sandbox nor beside it', async () => {
  const tree = treeOf('bad', { 'python/a.py': '1', 'python/z.py': '2' });
  chmodSync(join(tree, 'python/z.py'), 0o4755);
  await expect(bind(tree)).rejects.toMatchObject({ code: 'package_refused' });
  expect(readdirSync(join(home, 'sandbox'))).toEqual([]);
  expect(readdirSync(home).sort()).toEqual(['bad', 'sandbox']);
});

function treeOf(name: string, files: Record<string, string>): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name, path)), { recursive: true });
    writeFileSync(join(home, name, path), text);
    chmodSync(join(home, name, path), 0o644);
  }
  return join(home, name);
}
