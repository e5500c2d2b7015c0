import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installFolder } from './install-folder.ts';
import { findOwn } from './python-environment.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hc-programs-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;

test('programs are unreadable for other users until they are complete, and then readable', async () => {
  const modes: number[] = [];
  const folder = await installFolder(join(home, 'guest/abc'), async (made) => {
    modes.push(modeOf(made));
    await writeFile(join(made, 'main.py'), 'x');
    chmodSync(join(made, 'main.py'), 0o666);
  });
  expect(modes).toEqual([0o700]);
  expect([folder, join(folder, 'main.py')].map(modeOf)).toEqual([0o755, 0o644]);
  expect(readFileSync(join(folder, 'main.py'), 'utf8')).toBe('x');
});

test.each(['guest/abc', 'guest', '.'])(
  'programs that other users could have written are refused (%s)',
  async (open) => {
    mkdirSync(join(home, 'guest/abc'), { recursive: true });
    chmodSync(join(home, open), 0o777);
    const installing = installFolder(join(home, 'guest/abc'), async () => {});
    await expect(installing).rejects.toThrow(/can be written to by other users/);
  },
);

/** A record in a Python environment that names a program. */
function environment(python: string): string {
  const prefix = join(home, 'python/0123456789ab');
  mkdirSync(join(prefix, 'bin'), { recursive: true });
  symlinkSync(process.execPath, join(prefix, 'bin/python3'));
  writeFileSync(join(prefix, '.ready'), JSON.stringify({ python: resolve(prefix, python) }));
  return join(prefix, 'bin/python3');
}

test.each(['python/0123456789ab', 'python', 'python/0123456789ab/.ready'])(
  'so is a Python environment (%s)',
  (open) => {
    expect(environment('bin/python3')).toBe(findOwn(home)?.python);
    chmodSync(join(home, open), 0o777);
    expect(() => findOwn(home)).toThrow(/can be written to by other users/);
  },
);

test('no record names a Python outside of its environment', () => {
  environment(process.execPath);
  expect(findOwn(home)).toBeUndefined();
});
