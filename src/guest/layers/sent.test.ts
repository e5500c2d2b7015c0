import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { layerBytes } from './sent.ts';

let tree: string;

beforeEach(() => {
  tree = mkdtempSync(join(tmpdir(), 'hotcell-sent-'));
  mkdirSync(join(tree, 'python'));
});
afterEach(() => rmSync(tree, { recursive: true, force: true }));

it('sends the layer first, with the bytes of each file, then the hooks and the links', async () => {
  mkdirSync(join(tree, 'bin'));
  file('python/a.py', 'x = 1');
  file('bin/tool', 'run', 0o755);
  const entries = decoded(await whole());
  expect(entries.map(({ head }) => head)).toEqual([
    { kind: 'folder', path: '0007/python' },
    { kind: 'file', path: '0007/python/a.py', size: 5, executable: false },
    { kind: 'folder', path: '0007/bin' },
    { kind: 'file', path: '0007/bin/tool', size: 3, executable: true },
    { kind: 'file', path: 'hooks/hotcell_layers.py', size: expect.any(Number) },
    { kind: 'file', path: 'hooks/sitecustomize.py', size: expect.any(Number) },
    { kind: 'link', path: 'bin/tool', target: '../0007/bin/tool' },
  ]);
  expect(entries[1]?.content).toBe('x = 1');
  expect(entries[4]?.content).toContain('def add_layers(');
});

it('sends links as links', async () => {
  symlinkSync('a.py', join(tree, 'python/b.py'));
  expect(decoded(await whole())[1]?.head).toEqual({ kind: 'link', path: '0007/python/b.py', target: 'a.py' });
});

it('makes few pieces of many small files, and reads a large one in pieces', async () => {
  for (let index = 0; index < 50; index += 1) file(`python/small${index}.py`, 'x');
  file('python/large.bin', 'x'.repeat(300_000));
  const pieces: Buffer[] = [];
  for await (const piece of layerBytes('0001', tree, { hasInstaller: false })) pieces.push(piece);
  expect(pieces.length).toBeLessThan(10);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(2 * 65_536 + 1000);
});

async function whole(): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of layerBytes('0007', tree, { hasInstaller: false })) pieces.push(piece);
  return Buffer.concat(pieces);
}

function decoded(bytes: Buffer): { head: { size?: number }; content: string }[] {
  if (bytes.length === 0) return [];
  const start = 4 + bytes.readUInt32BE(0);
  const head = JSON.parse(bytes.toString('utf8', 4, start)) as { size?: number };
  const end = start + (head.size ?? 0);
  return [{ head, content: bytes.toString('utf8', start, end) }, ...decoded(bytes.subarray(end))];
}

function file(path: string, text: string, mode = 0o644): void {
  writeFileSync(join(tree, path), text);
  chmodSync(join(tree, path), mode);
}
