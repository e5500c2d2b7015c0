import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type LayerEntry, layerPieces } from './tree.ts';

let tree: string;

beforeEach(() => {
  tree = mkdtempSync(join(tmpdir(), 'hotcell-tree-'));
  mkdirSync(join(tree, 'python', 'pkg'), { recursive: true });
  mkdirSync(join(tree, 'node_modules', '.bin'), { recursive: true });
  file('python/pkg/a.py');
});
afterEach(() => rmSync(tree, { recursive: true, force: true }));

it('lists folders before their entries, with relative links that stay inside', async () => {
  mkdirSync(join(tree, 'bin'));
  file('bin/tool', 0o755);
  file('node_modules/x.js');
  symlinkSync('../x.js', join(tree, 'node_modules/.bin/x'));
  symlinkSync('pkg/a.py', join(tree, 'python/b.py'));
  file('layer.json');
  const entries = await entriesOf();
  expect(entries.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
    { kind: 'folder', path: 'bin' },
    { kind: 'file', path: 'bin/tool', size: 5, isExecutable: true },
    { kind: 'folder', path: 'node_modules' },
    { kind: 'folder', path: 'node_modules/.bin' },
    { kind: 'link', path: 'node_modules/.bin/x', target: '../x.js' },
    { kind: 'file', path: 'node_modules/x.js', size: 5, isExecutable: false },
    { kind: 'folder', path: 'python' },
    { kind: 'link', path: 'python/b.py', target: 'pkg/a.py' },
    { kind: 'folder', path: 'python/pkg' },
    { kind: 'file', path: 'python/pkg/a.py', size: 5, isExecutable: false },
  ]);
  const folders = new Set(['.']);
  for (const { kind, path } of entries) {
    expect(folders).toContain(dirname(path));
    if (kind === 'folder') folders.add(path);
  }
});

it.each([
  '/etc/passwd',
  '/opt/hotcell/layers/0001/python',
  '..',
  '../..',
  '../../../etc',
  '../../layer.json',
  'pkg/../../../x',
  'pkg/..',
  '../python/pkg/../../..',
  './..',
])('refuses a link to %s', async (target) => {
  symlinkSync(target, join(tree, 'python/evil'));
  expect(await refusal()).toMatch(/python\/evil: a link that leads out of the package/);
});

it.each([
  ['a FIFO', (path: string) => execFileSync('mkfifo', [path]), 'not a regular file'],
  ['a setuid program', (path: string) => made(path, 0o4755), 'a program that changes its user'],
  ['a setgid program', (path: string) => made(path, 0o2755), 'a program that changes its user'],
  ['a file that others can write', (path: string) => made(path, 0o646), 'writable for other users'],
  ['a file that its group can write', (path: string) => made(path, 0o664), 'writable for other users'],
  ['a file that others cannot read', (path: string) => made(path, 0o640), 'not readable for other users'],
] as const)('refuses %s', async (_what, make, why) => {
  make(join(tree, 'python/evil'));
  expect(await refusal()).toContain(`python/evil: ${why}`);
});

it('refuses a Unix socket', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(tree, 'python/evil'), resolve));
  expect(await refusal()).toContain('python/evil: not a regular file');
  server.close();
});

it.skipIf(process.getuid?.() !== 0)('refuses a device and a hard link to a file of another user', async () => {
  const evil = join(tree, 'python/evil');
  execFileSync('mknod', [evil, 'c', '1', '5']);
  expect(await refusal()).toContain('not a regular file');
  rmSync(evil);
  const theirs = join(tree, 'theirs');
  made(theirs, 0o644);
  chownSync(theirs, 12345, 12345);
  linkSync(theirs, evil);
  expect(await refusal()).toContain('a file of another user');
});

it('refuses a part that is a link or a file, and a tree that is too deep', async () => {
  symlinkSync('/etc', join(tree, 'bin'));
  expect(await refusal()).toContain('bin: not a folder');
  rmSync(join(tree, 'bin'));
  let deep = join(tree, 'python');
  for (let depth = 0; depth < 101; depth += 1) {
    deep = join(deep, 'd');
    mkdirSync(deep);
  }
  expect(await refusal()).toContain('too deep');
});

async function entriesOf(): Promise<LayerEntry[]> {
  const entries: LayerEntry[] = [];
  for await (const piece of layerPieces(tree)) entries.push(...piece);
  return entries;
}

async function refusal(): Promise<string> {
  try {
    await entriesOf();
  } catch (error) {
    expect(error).toMatchObject({ code: 'package_refused' });
    return (error as Error).message;
  }
  return 'accepted';
}

function file(path: string, mode = 0o644): void {
  made(join(tree, path), mode);
}

function made(path: string, mode: number): void {
  writeFileSync(path, 'x = 1');
  chmodSync(path, mode);
}
