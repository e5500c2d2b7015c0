import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { installLayerHook } from './layer-hook.ts';

let prefix: string;

beforeEach(() => {
  prefix = mkdtempSync(join(tmpdir(), 'hotcell-hook-'));
  mkdirSync(join(prefix, 'lib/python3.12/site-packages'), { recursive: true });
});
afterEach(() => rmSync(prefix, { recursive: true, force: true }));

it('adds the file once to an environment of ours, readable for all', () => {
  expect(installLayerHook({ kind: 'own', prefix })).toBe(true);
  const packages = join(prefix, 'lib/python3.12/site-packages');
  expect(statSync(join(packages, 'hotcell-layers.pth')).mode & 0o777).toBe(0o644);
  expect(installLayerHook({ kind: 'own', prefix })).toBe(true);
  expect(readdirSync(packages)).toEqual(['hotcell-layers.pth']);
});

it("leaves the system's Python as it is, and says that it does not find layers", () => {
  expect(installLayerHook({ kind: 'system', prefix })).toBe(false);
  expect(existsSync(join(prefix, 'lib/python3.12/site-packages/hotcell-layers.pth'))).toBe(false);
  expect(installLayerHook({ kind: 'own', prefix: join(prefix, 'absent') })).toBe(false);
});
