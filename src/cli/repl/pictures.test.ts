import { mkdir, mkdtemp, readdir, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createPictures } from './pictures.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hotcell-pictures-'));
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

const FIGURE = { representations: [{ mediaType: 'image/png', data: Buffer.from('png') }] };

it('writes pictures to the folder that was named', async () => {
  const pictures = createPictures('figures');
  expect(pictures.folder()).toBeUndefined();
  expect(await pictures.save(FIGURE)).toBe(join(await realpath(folder), 'figures', 'figure-1.png'));
  expect(await readdir(join(folder, 'figures'))).toEqual(['figure-1.png']);
});

it("does not follow a link of a stranger's repository that leads out of it", async () => {
  const outside = await mkdtemp(join(tmpdir(), 'hotcell-outside-'));
  try {
    await symlink(outside, join(folder, 'figures'));
    await mkdir(join(outside, 'below'));
    const later = createPictures('later');
    await symlink(outside, join(folder, 'later'));
    await expect(later.save(FIGURE)).rejects.toMatchObject({ code: 'invalid_argument' });
    for (const given of ['figures', 'figures/below', 'figures/new']) {
      expect(() => createPictures(given)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
    }
    expect(await readdir(outside)).toEqual(['below']);
    expect(await readdir(join(outside, 'below'))).toEqual([]);
  } finally {
    await rm(outside, { recursive: true });
  }
});
