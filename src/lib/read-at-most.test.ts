import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readAtMost, readAtMostSync } from './read-at-most.ts';

const folder = mkdtempSync(join(tmpdir(), 'hotcell-read-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = join(folder, 'file');
writeFileSync(file, 'abcdefgh');

describe.each([
  ['readAtMost', readAtMost],
  ['readAtMostSync', async (path: string, most?: number) => readAtMostSync(path, most)],
])('%s', (_, read) => {
  it('reads all of a small file', async () => {
    expect((await read(file)).toString()).toBe('abcdefgh');
    expect((await read(file, 8)).toString()).toBe('abcdefgh');
  });

  it('reads the beginning of a larger one', async () => {
    expect((await read(file, 3)).toString()).toBe('abc');
  });

  it('stops reading an endless file', async () => {
    expect((await read('/dev/zero', 100_000)).length).toBe(100_000);
  });

  it('rejects if there is no file', async () => {
    await expect(read(join(folder, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
