import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Artifact } from '../../execution/result.ts';
import type { SessionFiles } from '../../main.ts';
import { saveArtifacts, unsavedText, withoutMounted } from './artifacts.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hotcell-artifacts-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const files = {
  stream: async function* (path: string) {
    yield Buffer.from(`content of ${path}`);
  },
} as unknown as SessionFiles;

function artifact(path: string): Artifact {
  return { path, sizeBytes: 3, mediaType: 'text/plain', change: 'created' };
}

describe('saving what a program made', () => {
  it('copies files with their folders, and figures under names of their own', async () => {
    const out = join(folder, 'out');
    const figure = { representations: [{ mediaType: 'image/png', data: Buffer.from('png') }] };
    const made = { artifacts: [artifact('a/b.txt'), artifact('figure-1.png')], displays: [figure, figure] };
    const saved = await saveArtifacts(made, files, out);
    expect(saved).toEqual(['a/b.txt', 'figure-1.png', 'figure-1-shown.png', 'figure-2.png'].map((n) => join(out, n)));
    expect(await readFile(join(out, 'a/b.txt'), 'utf8')).toBe('content of a/b.txt');
    expect(await readFile(join(out, 'figure-1-shown.png'), 'utf8')).toBe('png');
  });

  it.each(['../escaped', '/../escaped', 'a/../../escaped', '.', ''])('refuses the path %j', async (path) => {
    const saving = saveArtifacts({ artifacts: [artifact(path)], displays: [] }, files, join(folder, 'out'));
    await expect(saving).rejects.toMatchObject({ code: 'bad_path' });
    await expect(readFile(join(folder, 'escaped'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('does not write through a link that lies in the folder', async () => {
    const target = join(folder, 'precious');
    await writeFile(target, 'precious');
    await saveArtifacts({ artifacts: [], displays: [] }, files, join(folder, 'out'));
    await symlink(target, join(folder, 'out', 'a.txt'));
    await symlink(folder, join(folder, 'out', 'up'));
    for (const path of ['a.txt', 'up/precious']) {
      await expect(
        saveArtifacts({ artifacts: [artifact(path)], displays: [] }, files, join(folder, 'out')),
      ).rejects.toThrow();
    }
    expect(await readFile(target, 'utf8')).toBe('precious');
  });
});

describe('what lies in the sandbox alone', () => {
  it('does not count what a program wrote to a folder of the host', () => {
    const made = { artifacts: [artifact('a.txt'), artifact('data/b.txt'), artifact('database.txt')], displays: [] };
    const left = (target: string) => withoutMounted(made, [{ source: '/x', target }]).artifacts.map(({ path }) => path);
    expect(left('/workspace/data/')).toEqual(['a.txt', 'database.txt']);
    expect(left('/workspace')).toEqual([]);
    expect(left('/data')).toEqual(['a.txt', 'data/b.txt', 'database.txt']);
  });
});

describe('what is not saved', () => {
  it('is named, with how to keep it', () => {
    const figure = { representations: [{ mediaType: 'image/png', data: Buffer.alloc(0) }] };
    const made = { artifacts: [artifact('a.txt')], displays: [figure] };
    expect(unsavedText(made)).toBe(
      'hotcell: made and not kept: a.txt (3 bytes), a figure. Keep them with --save-artifacts <folder>.',
    );
  });

  it('is not mentioned where nothing was made', () => {
    expect(unsavedText({ artifacts: [], displays: [] })).toBeUndefined();
  });
});
