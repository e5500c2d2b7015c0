import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { holdParent } from './held-parent.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'hc-held-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

it('creates missing folders, and returns their path without links', async () => {
  mkdirSync(join(root, 'real'));
  symlinkSync('real', join(root, 'link'));
  const parent = await holdParent(join(root, 'link/a/b'));
  expect(parent?.path).toBe(join(root, 'real/a/b'));
  await parent?.close();
});

it.skipIf(process.platform !== 'linux')('stays with the folder that was opened, whatever takes its name', async () => {
  for (const name of ['.cursor', 'elsewhere']) mkdirSync(join(root, name));
  const parent = await holdParent(join(root, '.cursor'));
  renameSync(join(root, '.cursor'), join(root, 'aside'));
  symlinkSync('elsewhere', join(root, '.cursor'));
  writeFileSync(parent!.entry('mcp.json'), '{}');
  await parent?.close();
  expect([readdirSync(join(root, 'aside')), readdirSync(join(root, 'elsewhere'))]).toEqual([['mcp.json'], []]);
});

it('creates nothing through a dangling link', async () => {
  symlinkSync(join(root, 'elsewhere'), join(root, '.cursor'));
  expect(await holdParent(join(root, '.cursor'))).toBeUndefined();
  expect(existsSync(join(root, 'elsewhere'))).toBe(false);
});
