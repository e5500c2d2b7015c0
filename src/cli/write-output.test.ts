import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { holdFile } from './named-file.ts';
import { holdPlace } from './named-place.ts';
import { writeOutput } from './write-output.ts';

let home: string;
let repository: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hotcell-output-'));
  repository = join(home, 'repository');
  mkdirSync(join(repository, 'inner'), { recursive: true });
  mkdirSync(join(home, '.ssh'));
  writeFileSync(join(home, '.ssh', 'authorized_keys'), 'precious');
  vi.spyOn(process, 'cwd').mockReturnValue(repository);
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(home, { recursive: true, force: true });
});

async function write(path: string, text: string, options?: { overwrite?: boolean }): Promise<void> {
  using file = holdFile(path);
  await writeOutput(file, text, options);
}

function placeOf(path: string): string {
  using place = holdPlace(path);
  return place.path;
}

const refused = expect.objectContaining({ code: 'invalid_argument' });

it('refuses it also by another name of the current folder, as a shell has in $PWD', async () => {
  symlinkSync(repository, join(home, 'project'));
  symlinkSync(join(home, '.ssh'), join(repository, 'out'));
  expect(() => placeOf(join(home, 'project', 'out', 'a'))).toThrow(refused);
  await expect(write(join(home, 'project', 'out', 'a'), 'x')).rejects.toEqual(refused);
  expect(placeOf(join(home, 'project', 'inner', 'a'))).toBe(join(repository, 'inner', 'a'));
  expect(placeOf(join(home, 'elsewhere', 'a'))).toBe(join(home, 'elsewhere', 'a'));
});

it('refuses every link out of the current folder that a stranger has put there', async () => {
  symlinkSync(join(home, '.ssh'), join(repository, 'out'));
  symlinkSync(join(home, '.ssh', 'authorized_keys'), join(repository, 'result.ipynb'));
  symlinkSync('../.ssh/new', join(repository, 'dangling'));
  symlinkSync('inner/../../.ssh', join(repository, 'winding'));
  mkdirSync(join(home, '.ssh', 'zz'));
  mkdirSync(join(repository, 'real'));
  symlinkSync('../.ssh/zz', join(repository, 'd'));
  symlinkSync('d/../real', join(repository, 'ambiguous')); // for the kernel `~/.ssh/real`
  mkdirSync(join(home, '.ssh', 'real'));
  for (const path of [
    'ambiguous',
    'ambiguous/a',
    'out',
    'out/a',
    'out/new/deep',
    'result.ipynb',
    'dangling',
    'winding',
    'inner/../out',
  ]) {
    expect(() => placeOf(path), path).toThrow(refused);
    await expect(write(path, 'x')).rejects.toEqual(refused);
    await expect(write(path, 'x', { overwrite: false })).rejects.toEqual(refused);
  }
  expect(readFileSync(join(home, '.ssh', 'authorized_keys'), 'utf8')).toBe('precious');
  expect(readdirSync(join(home, '.ssh')).sort()).toEqual(['authorized_keys', 'real', 'zz']);
});

it('refuses a link that stays in the current folder, and names its target', async () => {
  mkdirSync(join(repository, '.git'));
  symlinkSync('.git', join(repository, 'results'));
  symlinkSync('inner', join(repository, 'out'));
  await expect(write('results/config', 'x')).rejects.toMatchObject({ remedy: expect.stringContaining(': .git') });
  await expect(write('out/a.ipynb', 'x')).rejects.toMatchObject({ remedy: expect.stringContaining(': inner') });
  expect(readdirSync(join(repository, '.git'))).toEqual([]);
});

it('follows links outside the current folder, which are the user’s own', async () => {
  symlinkSync(repository, join(home, 'link'));
  await write(join(home, 'link', 'b.ipynb'), 'text');
  expect(readdirSync(repository).sort()).toEqual(['b.ipynb', 'inner']);
  mkdirSync(join(home, 'data'));
  symlinkSync('data', join(home, 'results'));
  await write('../results/c.ipynb', 'text');
  await write(join(home, 'results', 'd.ipynb'), 'text');
  expect(readdirSync(join(home, 'data'))).toEqual(['c.ipynb', 'd.ipynb']);
  vi.spyOn(process, 'cwd').mockReturnValue('/');
  await write(join(home, 'results', 'e.ipynb').slice(1), 'text');
  expect(readdirSync(join(home, 'data'))).toHaveLength(3);
});

it('follows no link in another folder that a sandbox can write to', () => {
  mkdirSync(join(home, 'beside'));
  symlinkSync(join(home, '.ssh'), join(home, 'beside', 'out'));
  for (const path of ['../beside/out/a', join(home, 'beside/out/a'), '../beside/out']) {
    holdFile(path.replace(/out$/, 'x'))[Symbol.dispose](); // where no sandbox can
    expect(() => holdFile(path, { writable: [join(home, 'beside')] }), path).toThrow(refused);
  }
});

it.each(['out/a', '../repository/out/a', '../beside/out/a'])(
  'writes %s to its target when it was named, whatever replaces a folder meanwhile',
  async (path) => {
    mkdirSync(join(home, 'beside'));
    const out = join(repository, path, '..');
    mkdirSync(out);
    using file = holdFile(path);
    renameSync(out, `${out}-moved`);
    symlinkSync(join(home, '.ssh'), out);
    writeFileSync(join(out, 'by-path'), ''); // the attack, on a program that looks the path up again
    await writeOutput(file, 'text');
    expect(readdirSync(`${out}-moved`)).toEqual(['a']);
    expect(readdirSync(join(home, '.ssh')).sort()).toEqual(['authorized_keys', 'by-path']);
  },
);

it.each(['new/a', '../new/a'])('does not follow a link that is put at %s once it has been named', async (path) => {
  using file = holdFile(path);
  symlinkSync(join(home, '.ssh'), join(repository, path, '..'));
  await expect(writeOutput(file, 'x')).rejects.toEqual(refused);
  expect(readdirSync(join(home, '.ssh'))).toEqual(['authorized_keys']);
});

it('replaces a file with its mode, and leaves nothing beside it', async () => {
  writeFileSync(join(repository, 'a'), 'old');
  chmodSync(join(repository, 'a'), 0o600);
  await write('a', 'new');
  expect(readFileSync(join(repository, 'a'), 'utf8')).toBe('new');
  expect(statSync(join(repository, 'a')).mode & 0o777).toBe(0o600);
  await expect(write('a', 'x', { overwrite: false })).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(write('none/a', 'x')).rejects.toMatchObject({ code: 'ENOENT' });
  expect(readdirSync(repository).sort()).toEqual(['a', 'inner']);
});

it('does not wait for a reader of a pipe', async () => {
  execFileSync('mkfifo', [join(repository, 'pipe')]);
  await expect(write('pipe', 'x')).rejects.toEqual(refused);
  await expect(write('inner', 'x')).rejects.toEqual(refused);
});
