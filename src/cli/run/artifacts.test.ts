import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { Artifact } from '../../execution/result.ts';
import type { SessionFiles } from '../../main.ts';
import { holdPlace } from '../named-place.ts';
import { openFolder } from '../open-folder.ts';
import {
  EXIT_NOT_SAVED,
  exitCodeWith,
  type FileSource,
  type Made,
  saveArtifacts,
  savedLines,
  unsavedText,
  withoutMounted,
} from './artifacts.ts';
import { saveFile } from './save-file.ts';

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

async function saveIn(made: Made, source: FileSource, folder: string) {
  using place = holdPlace(folder);
  return await saveArtifacts(made, source, place);
}

function artifact(path: string): Artifact {
  return { path, sizeBytes: 3, mediaType: 'text/plain', change: 'created' };
}

describe('saving the files of a program', () => {
  it('copies files with their folders, and figures under new names', async () => {
    const out = join(folder, 'out');
    const figure = { representations: [{ mediaType: 'image/png', data: Buffer.from('png') }] };
    const made = { artifacts: [artifact('a/b.txt'), artifact('figure-1.png')], displays: [figure, figure] };
    const saved = await saveIn(made, files, out);
    expect(saved.notSaved).toEqual([]);
    expect(saved.saved).toEqual(
      ['a/b.txt', 'figure-1.png', 'figure-1-shown.png', 'figure-2.png'].map((n) => join(out, n)),
    );
    expect(await readFile(join(out, 'a/b.txt'), 'utf8')).toBe('content of a/b.txt');
    expect(await readFile(join(out, 'figure-1-shown.png'), 'utf8')).toBe('png');
  });

  it.each([...['../escaped', '/../escaped', 'a/../../escaped', '.', ''], ...['a/', '/abs', 'a\0b']])(
    'refuses the path %j',
    async (path) => {
      const { saved, notSaved } = await saveIn(
        { artifacts: [artifact(path), artifact('b.txt')], displays: [] },
        files,
        join(folder, 'out'),
      );
      expect(notSaved).toEqual([{ path, reason: expect.stringContaining('is outside its folder') }]);
      expect(saved).toEqual([join(folder, 'out', 'b.txt')]);
      expect(await readdir(join(folder, 'out'))).toEqual(['b.txt']);
      await expect(readFile(join(folder, 'escaped'))).rejects.toMatchObject({ code: 'ENOENT' });
    },
  );

  it('leaves hidden files in the sandbox, because programs of the host read them as commands', async () => {
    const alike = ['\u200c.git/config', '\u2060.envrc', 'a/\ufeff.npmrc', 'git~1/config', 'GIT~1', 'ENVRC~12.TXT'];
    const hidden = ['.git/config', '.g\u200cit/config', '.envrc', 'a/.npmrc', ...alike];
    const made = { artifacts: [...hidden, 'out.csv', 'report~draft 1.csv'].map(artifact), displays: [] };
    const result = await saveIn(made, files, folder);
    expect((await readdir(folder)).sort()).toEqual(['out.csv', 'report~draft 1.csv']);
    expect(result.notSaved.map(({ path }) => path)).toEqual(hidden);
    expect(savedLines(result).join('\n')).toContain('begins with a dot');
    expect(exitCodeWith(0, result)).toBe(0);
  });

  it('does not write through a link that lies in the folder', async () => {
    const target = join(folder, 'precious');
    await writeFile(target, 'precious');
    await saveIn({ artifacts: [], displays: [] }, files, join(folder, 'out'));
    await symlink(target, join(folder, 'out', 'a.txt'));
    await symlink(folder, join(folder, 'out', 'up'));
    const paths = ['a.txt', 'up/precious', 'up/new/deep/file'];
    const { saved, notSaved } = await saveIn(
      { artifacts: paths.map(artifact), displays: [] },
      files,
      join(folder, 'out'),
    );
    expect(saved).toEqual([]);
    expect(notSaved.map(({ path }) => path)).toEqual(paths);
    expect(await readFile(target, 'utf8')).toBe('precious');
    expect((await readdir(folder)).sort()).toEqual(['out', 'precious']); // nor was a folder created beyond the link
  });

  it('saves to the folder that was opened, and reports if a link has taken its place', async () => {
    const [out, secrets] = [join(folder, 'out'), join(folder, '.ssh')];
    await mkdir(secrets);
    const source = {
      stream: async function* (path: string) {
        yield Buffer.from('half ');
        if (path === 'first') {
          await rename(out, `${out}-moved`);
          await symlink(secrets, out);
          await writeFile(join(out, 'by-path'), ''); // the attack, on a program that looks the path up again
        }
        yield Buffer.from('whole');
      },
    };
    const made = { artifacts: ['first', 'authorized_keys', 'deep/file'].map(artifact), displays: [] };
    const result = await saveIn(made, source, out);
    expect(await readdir(secrets)).toEqual(['by-path']);
    expect((await readdir(`${out}-moved`)).sort()).toEqual(['authorized_keys', 'deep', 'first']);
    expect(result.notSaved).toEqual([{ path: out, reason: expect.stringContaining('replaced while') }]);
    expect(exitCodeWith(0, result)).toBe(EXIT_NOT_SAVED);
  });

  it('continues after a file that cannot be written, and gives the reason for each', async () => {
    const out = join(folder, 'out');
    await mkdir(join(out, 'folder'), { recursive: true });
    execFileSync('mkfifo', [join(out, 'pipe')]);
    const long = 'n'.repeat(300);
    const made = { artifacts: ['folder', 'pipe', long, 'hidden', 'gone', 'last.txt'].map(artifact), displays: [] };
    const source = {
      stream: async function* (path: string) {
        if (path === 'hidden') throw new HotcellError('file_failed', 'hidden: Permission\ndenied\x1b]0;t\x07');
        if (path === 'gone') throw new HotcellError('file_not_found', 'gone');
        yield Buffer.from('content');
      },
    };
    const result = await saveIn(made, source, out);
    expect(result.saved).toEqual([join(out, 'last.txt')]);
    expect(result.notSaved).toEqual([
      { path: 'folder', reason: 'a folder named folder already exists' },
      { path: 'pipe', reason: 'a pipe named pipe already exists' },
      { path: long, reason: 'the name is too long for this file system' },
      { path: 'hidden', reason: expect.stringMatching(/^hidden: Permission denied/) },
      { path: 'gone', reason: expect.stringContaining('deleted in the sandbox'), isGone: true },
    ]);
    expect(exitCodeWith(0, result)).toBe(EXIT_NOT_SAVED);
    expect(exitCodeWith(3, result)).toBe(3);
    expect(savedLines(result)).toContain('hotcell: not saved, 5 of 6:');
  });

  it('keeps the user’s older file if the new one is gone, breaks off or grows without end', async () => {
    const failing = {
      gone: new HotcellError('file_not_found', 'gone'),
      broken: new HotcellError('engine_failed', 'the connection broke'),
    };
    const source = {
      stream: async function* (path: string) {
        if (path === 'endless') for (let sent = 0; sent < 200; sent += 1) yield Buffer.alloc(1_048_576);
        if (path === 'broken' || path === 'new') yield Buffer.from('half');
        if (path !== 'new') throw failing[path as keyof typeof failing];
      },
    };
    const names = ['broken', 'endless', 'gone', 'new'];
    for (const name of names) await writeFile(join(folder, name), 'precious', { mode: 0o640 });
    const result = await saveIn({ artifacts: names.map(artifact), displays: [] }, source, folder);
    expect(result.notSaved.map(({ path }) => path)).toEqual(['broken', 'endless', 'gone']);
    for (const name of names) {
      expect(await readFile(join(folder, name), 'utf8')).toBe(name === 'new' ? 'half' : 'precious');
    }
    expect((await stat(join(folder, 'new'))).mode & 0o777).toBe(0o640);
    expect((await readdir(folder)).sort()).toEqual(names);
    expect(exitCodeWith(0, { saved: [], notSaved: result.notSaved.slice(2) })).toBe(0);
  });

  it('stops a file that grows without end, and leaves nothing of it', async () => {
    const piece = Buffer.alloc(1_048_576);
    let sent = 0;
    const source = {
      stream: async function* () {
        for (; sent < 200; sent += 1) yield piece;
      },
    };
    const out = join(folder, 'out');
    const { notSaved } = await saveIn({ artifacts: [artifact('endless')], displays: [] }, source, out);
    expect(notSaved).toEqual([{ path: 'endless', reason: expect.stringContaining('larger than the limit of') }]);
    expect(sent).toBeLessThan(80);
    expect(await readdir(out)).toEqual([]);
  });

  it('creates a bounded number of folders, for one path or many', async () => {
    const out = join(folder, 'out');
    const paths = [`${'a'.repeat(5_000)}/f`, `${'a/'.repeat(200)}f`];
    const { notSaved } = await saveIn({ artifacts: paths.map(artifact), displays: [] }, files, out);
    expect(notSaved.map(({ reason }) => reason)).toEqual(paths.map(() => expect.stringContaining('too long')));
    expect(await readdir(out)).toEqual([]);
    const room = { bytes: 100, folders: 2 };
    using root = openFolder(out);
    const save = (path: string) => saveFile(root, path, [Buffer.from('x')], { room, limitBytes: 10 });
    await save('a/b/f');
    await save('a/b/g');
    await expect(save('c/f')).rejects.toMatchObject({ message: expect.stringContaining('more folders') });
    expect(room.bytes).toBe(98);
  });

  it('refuses a folder that cannot be used, as a usage error', async () => {
    await writeFile(join(folder, 'file'), '');
    const saving = saveIn({ artifacts: [], displays: [] }, files, join(folder, 'file', 'out'));
    await expect(saving).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});

describe('the lines about saved files', () => {
  it('are few and short, whatever the names, and no name reads as a line of Hotcell', () => {
    const saved = Array.from({ length: 1_000 }, (_, number) => `${number}${'p'.repeat(4_000)}`);
    const [line] = savedLines({ saved: ['a b\nhotcell: all is well', ...saved], notSaved: [] });
    expect(line).toMatch(/^hotcell: saved "a b\\nhotcell: all is well", 0p+…, .*, and 901 more$/);
    expect(line!.length).toBeLessThan(40_000);
    expect(unsavedText({ artifacts: [artifact('n'.repeat(9_000))], displays: [] })!.length).toBeLessThan(500);
  });
});

describe('the list of files that exist only in the sandbox', () => {
  it('leaves out files in mounted folders of the host', () => {
    const made = { artifacts: [artifact('a.txt'), artifact('data/b.txt'), artifact('database.txt')], displays: [] };
    const left = (target: string) => withoutMounted(made, [{ source: '/x', target }]).artifacts.map(({ path }) => path);
    expect(left('/workspace/data/')).toEqual(['a.txt', 'database.txt']);
    expect(left('/workspace')).toEqual([]);
    expect(left('/data')).toEqual(['a.txt', 'data/b.txt', 'database.txt']);
  });
});

describe('the text about unsaved files', () => {
  it('names them, and how to keep them', () => {
    const figure = { representations: [{ mediaType: 'image/png', data: Buffer.alloc(0) }] };
    const made = { artifacts: [artifact('a.txt')], displays: [figure] };
    expect(unsavedText(made)).toBe(
      'hotcell: not saved: a.txt (3 bytes), a figure. Save them with --save-artifacts <folder>.',
    );
  });

  it('is absent if there are none', () => {
    expect(unsavedText({ artifacts: [], displays: [] })).toBeUndefined();
  });
});
