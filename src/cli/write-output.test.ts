import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { outputPlace, writeOutput } from './write-output.ts';

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

const refused = expect.objectContaining({ code: 'invalid_argument' });

it('refuses it by another name of the current folder, too, as a shell has in $PWD', async () => {
  symlinkSync(repository, join(home, 'project'));
  symlinkSync(join(home, '.ssh'), join(repository, 'out'));
  expect(() => outputPlace(join(home, 'project', 'out', 'a'))).toThrow(refused);
  await expect(writeOutput(join(home, 'project', 'out', 'a'), 'x')).rejects.toEqual(refused);
  expect(outputPlace(join(home, 'project', 'inner', 'a'))).toBe(join(repository, 'inner', 'a'));
  expect(outputPlace(join(home, 'elsewhere', 'a'))).toBe(join(home, 'elsewhere', 'a'));
});

it('refuses every way out of the current folder that a stranger has put there', async () => {
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
    expect(() => outputPlace(path), path).toThrow(refused);
    await expect(writeOutput(path, 'x')).rejects.toEqual(refused);
    await expect(writeOutput(path, 'x', { overwrite: false })).rejects.toEqual(refused);
  }
  expect(readFileSync(join(home, '.ssh', 'authorized_keys'), 'utf8')).toBe('precious');
  expect(readdirSync(join(home, '.ssh')).sort()).toEqual(['authorized_keys', 'real', 'zz']);
});

it('follows a link that stays in it, and takes a path elsewhere as it is', async () => {
  symlinkSync('inner', join(repository, 'out'));
  await writeOutput('out/a.ipynb', 'text');
  expect(readFileSync(join(repository, 'inner', 'a.ipynb'), 'utf8')).toBe('text');
  symlinkSync(repository, join(home, 'link'));
  await writeOutput(join(home, 'link', 'b.ipynb'), 'text');
  expect(readdirSync(repository).sort()).toEqual(['b.ipynb', 'inner', 'out']);
});

it('replaces a file with its mode, and leaves nothing beside it', async () => {
  writeFileSync(join(repository, 'a'), 'old');
  chmodSync(join(repository, 'a'), 0o600);
  await writeOutput('a', 'new');
  expect(readFileSync(join(repository, 'a'), 'utf8')).toBe('new');
  expect(statSync(join(repository, 'a')).mode & 0o777).toBe(0o600);
  await expect(writeOutput('a', 'x', { overwrite: false })).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(writeOutput('none/a', 'x')).rejects.toMatchObject({ code: 'ENOENT' });
  expect(readdirSync(repository).sort()).toEqual(['a', 'inner']);
});

it('waits for nobody at a pipe', async () => {
  execFileSync('mkfifo', [join(repository, 'pipe')]);
  await expect(writeOutput('pipe', 'x')).rejects.toEqual(refused);
  await expect(writeOutput('inner', 'x')).rejects.toEqual(refused);
});
