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
  it('is made with all folders on the way, and may be there already', async () => {
    for (let time = 0; time < 2; time += 1) await makeFolder(join(root, 'a/b/c'));
    expect(statSync(join(root, 'a/b/c')).isDirectory()).toBe(true);
  });

  it('cannot be made where a file is', async () => {
    writeFileSync(join(root, 'file'), '');
    await expect(makeFolder(join(root, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(makeFolder(join(root, 'file/below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  it.skipIf(!existsSync('/proc/self'))('is refused, and not waited for, where none can ever be', async () => {
    await expect(makeFolder('/proc/nothing/below')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
