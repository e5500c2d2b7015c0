import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findHostProgram, findProgram, searchedFolders } from './find-program.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hotcell-programs-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(place: string, name: string): string {
  mkdirSync(join(folder, place), { recursive: true });
  const path = join(folder, place, name);
  writeFileSync(path, '#!/bin/sh\n');
  chmodSync(path, 0o755);
  return join(folder, place);
}

it("prefers the system's program to one on the search path", () => {
  const path = `${put('venv/bin', 'sh')}:/usr/bin`;
  expect(findProgram('sh', path)).toBe(join(folder, 'venv/bin/sh'));
  expect(findHostProgram('sh', path)).toMatch(/^\/(usr\/)?bin\/sh$/);
  expect(searchedFolders('sh', path)).toEqual([]);
});

it('lists the folders of the search path that are searched for a program that the system lacks', () => {
  const [first, second] = [join(folder, 'first'), put('second', 'hotcell-none')];
  const path = `${first}:${second}:${join(folder, 'third')}`;
  expect(findHostProgram('hotcell-none', path)).toBe(join(second, 'hotcell-none'));
  expect(searchedFolders('hotcell-none', path)).toEqual([first, second]);
  expect(searchedFolders('hotcell-missing', path)).toHaveLength(3);
});

it('ignores the folders that npm adds to the search path for the current project', () => {
  const path = put('node_modules/.bin', 'hotcell-none');
  expect(findProgram('hotcell-none', path)).toBeUndefined();
  expect(findHostProgram('hotcell-none', path)).toBeUndefined();
  expect(searchedFolders('hotcell-none', path)).toEqual([]);
});
