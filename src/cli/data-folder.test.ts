import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { packageRoot } from '../lib/package-root.ts';
import { DATA_PARTS, dataParts, sizeOf } from './data-folder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hotcell-data-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('lists everything that the sources write to the data folder, so that uninstall leaves nothing', () => {
  const sources = readdirSync(join(packageRoot(), 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    /(?<!\.test)\.ts$/.test(path),
  );
  const named = sources.flatMap((path) =>
    [...readFileSync(join(packageRoot(), 'src', path), 'utf8').matchAll(/join\((?:\w+\.)?dataDir, '([^']+)'/g)].map(
      ([, name]) => name,
    ),
  );
  expect(new Set(named)).toEqual(new Set(Object.keys(DATA_PARTS)));
});

it('counts the space of what it knows, a file with two names once, and follows no link', () => {
  mkdirSync(join(folder, 'python'));
  writeFileSync(join(folder, 'python', 'a'), Buffer.alloc(100_000, 1));
  linkSync(join(folder, 'python', 'a'), join(folder, 'python', 'b'));
  symlinkSync('/usr', join(folder, 'python', 'c'));
  writeFileSync(join(folder, 'thesis.tex'), Buffer.alloc(100_000, 1));
  writeFileSync(join(folder, 'installation'), 'i');
  const parts = dataParts(folder);
  expect(parts.map(({ name }) => name)).toEqual(['python', 'installation']);
  expect(parts[0]!.sizeBytes).toBeGreaterThanOrEqual(100_000);
  expect(parts[0]!.sizeBytes).toBeLessThan(150_000);
  expect(sizeOf(join(folder, 'nothing'))).toBe(0);
});
