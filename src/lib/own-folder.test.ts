import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeOwnFolder, makeTemporaryFolder, requireTrusted } from './own-folder.ts';

const asRoot = process.getuid?.() === 0;
const STRANGER = 1_234_567;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hc-own-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const modeOf = (path: string) => statSync(path).mode & 0o7777;

describe('a folder of our own', () => {
  it('is created with its parents, and may exist already', () => {
    for (let time = 0; time < 2; time += 1) makeOwnFolder(join(root, 'a/b'), 0o711);
    expect([modeOf(join(root, 'a')), modeOf(join(root, 'a/b'))]).toEqual([0o711, 0o711]);
  });

  it('loses permissions beyond its mode, and gains none', () => {
    mkdirSync(join(root, 'loose'));
    chmodSync(join(root, 'loose'), 0o755);
    makeOwnFolder(join(root, 'loose'), 0o700);
    expect(modeOf(join(root, 'loose'))).toBe(0o700);
    makeOwnFolder(join(root, 'loose'), 0o755);
    expect(modeOf(join(root, 'loose'))).toBe(0o700);
  });

  it.each([0o777, 0o1777, 0o702])('is refused if other users may have written to it (%o)', (mode) => {
    mkdirSync(join(root, 'open'));
    chmodSync(join(root, 'open'), mode);
    expect(() => makeOwnFolder(join(root, 'open'), 0o700)).toThrow(
      expect.objectContaining({ name: 'UntrustedPathError', command: `chmod go-w ${join(root, 'open')}` }),
    );
    expect(modeOf(join(root, 'open'))).toBe(mode);
  });

  it('is refused in place of a file', () => {
    writeFileSync(join(root, 'file'), '');
    expect(() => makeOwnFolder(join(root, 'file'), 0o700)).toThrow(expect.objectContaining({ code: 'EEXIST' }));
  });

  it.skipIf(!asRoot)('is refused if it, or a link to it, belongs to another user', () => {
    mkdirSync(join(root, 'theirs'), { mode: 0o700 });
    chownSync(join(root, 'theirs'), STRANGER, STRANGER);
    symlinkSync('theirs', join(root, 'link'));
    for (const name of ['theirs', 'theirs/below', 'link', 'link/below']) {
      expect(() => makeOwnFolder(join(root, name), 0o700)).toThrow(/belongs to another user \(uid 1234567\)/);
    }
    expect(existsSync(join(root, 'theirs/below'))).toBe(false);
  });

  it.skipIf(existsSync('/proc/self') === false)('below /proc is refused, without an endless loop', () => {
    expect(() => makeOwnFolder('/proc/nothing/below', 0o700)).toThrow(expect.objectContaining({ code: 'ENOENT' }));
  });
});

describe('a path that Hotcell relies on', () => {
  it('may be missing, a file, a folder, /dev/null or /dev/stderr', () => {
    writeFileSync(join(root, 'file'), '');
    for (const path of [
      join(root, 'none'),
      join(root, 'none/x'),
      join(root, 'file'),
      root,
      '/dev/null',
      '/dev/stderr',
    ]) {
      requireTrusted(path);
    }
  });

  it.skipIf(!asRoot)("is refused if it is another user's link, even a dangling one", () => {
    symlinkSync('nowhere', join(root, 'link'));
    requireTrusted(join(root, 'link'));
    lchownSync(join(root, 'link'), STRANGER, STRANGER);
    expect(() => requireTrusted(join(root, 'link'))).toThrow(/belongs to another user/);
  });

  it('is refused if other users may write to it, sticky or not', () => {
    chmodSync(root, 0o1777);
    expect(() => requireTrusted(root)).toThrow(/written to by other users/);
  });
});

it('a temporary folder is new, has a unique name and is private to this user', () => {
  const made = [makeTemporaryFolder('hc-t-'), makeTemporaryFolder('hc-t-')];
  try {
    for (const folder of made) {
      expect(modeOf(folder)).toBe(0o700);
      expect([dirname(folder), basename(folder)]).toEqual([tmpdir(), expect.stringMatching(/^hc-t-\w{6}$/)]);
    }
    expect(made[0]).not.toBe(made[1]);
  } finally {
    for (const folder of made) rmSync(folder, { recursive: true });
  }
});
