import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeFolder } from './make-folder.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hc-folder-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('a folder', () => {
  it('is created with its parents, and may exist already', () => {
    for (let time = 0; time < 2; time += 1) makeFolder(join(root, 'a/b/c'), 0o700);
    for (const name of ['a', 'a/b', 'a/b/c']) expect(statSync(join(root, name)).mode & 0o777).toBe(0o700);
  });

  it('cannot be created in place of a file', () => {
    writeFileSync(join(root, 'file'), '');
    expect(() => makeFolder(join(root, 'file'))).toThrow(expect.objectContaining({ code: 'EEXIST' }));
    expect(() => makeFolder(join(root, 'file/below'))).toThrow(expect.objectContaining({ code: 'ENOTDIR' }));
  });

  it.skipIf(!existsSync('/proc/self'))('below /proc is refused, without an endless loop', () => {
    expect(() => makeFolder('/proc/nothing/below')).toThrow(expect.objectContaining({ code: 'ENOENT' }));
  });
});
