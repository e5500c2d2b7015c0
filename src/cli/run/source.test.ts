import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readSource } from './source.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hotcell-source-'));
  mkdirSync(join(home, 'repository', 'src'), { recursive: true });
  writeFileSync(join(home, 'key'), 'secret');
  writeFileSync(join(home, 'repository', 'src', 'main.py'), 'print(1)');
  vi.spyOn(process, 'cwd').mockReturnValue(join(home, 'repository'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(home, { recursive: true, force: true });
});

it('reads a program by a relative and by an absolute path, and one elsewhere through links of the user', async () => {
  symlinkSync('repository/src', join(home, 'link'));
  for (const path of ['src/main.py', './src/../src/main.py', join(home, 'repository/src/main.py')]) {
    expect((await readSource(path)).code).toBe('print(1)');
  }
  expect((await readSource(join(home, 'link/main.py'))).code).toBe('print(1)');
});

it("follows no link of a stranger's repository, which would have a file of the user sent to a server", async () => {
  symlinkSync('../key', join(home, 'repository', 'main.py'));
  symlinkSync('..', join(home, 'repository', 'up'));
  for (const path of ['main.py', 'up/key', join(home, 'repository/main.py')]) {
    const reading = readSource(path);
    await expect(reading, path).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(reading).rejects.toThrow(/is a symbolic link, which is not followed/);
  }
});

it.each([
  ['none.py', /none\.py: there is no such file/],
  ['none/main.py', /there is no such file/],
  ['src', /a folder, not a program/],
  ['src/main.py/x', /is not a folder/],
])('names the problem with %s', async (path, problem) => {
  await expect(readSource(path)).rejects.toThrow(problem);
});

it('reads a pipe, as a shell makes one for <(…)', async () => {
  const pipe = join(home, 'repository', 'pipe');
  execFileSync('mkfifo', [pipe]);
  const reading = readSource('pipe');
  const writer = await open(pipe, 'w');
  await writer.writeFile('print(2)').finally(() => writer.close());
  expect((await reading).code).toBe('print(2)');
});
