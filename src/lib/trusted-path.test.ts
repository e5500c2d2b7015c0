import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { walkTrusted } from './trusted-path.ts';
import { complaintAbout, complaintAboutOwn, type Entry, type Trusted, trustedHere } from './untrusted-path.ts';

const ALICE = { uid: 1000, gid: 1000, owners: [0, 1000] };
const ALICE_OF_USERS = { ...ALICE, gid: 100 };
const ROOT = { uid: 0, gid: 0, owners: [0] };

const entry = (uid: number, mode: number, { gid = uid, kind = 'folder' } = {}): Entry => ({
  ...{ uid, gid, mode },
  isDirectory: () => kind === 'folder',
  isFile: () => kind === 'file',
});

describe('a component of a path', () => {
  it.each([
    ['of the user', entry(1000, 0o755), ALICE],
    ['of root', entry(0, 0o755), ALICE],
    ['of root, sticky and for all, as /tmp', entry(0, 0o1777), ALICE],
    ['of root, for a group of the system, as /var/log', entry(0, 0o775, { gid: 110 }), ALICE],
    ["for the user's private group, as under the umask 002", entry(1000, 0o775), ALICE],
    ['a link of root', entry(0, 0o777, { kind: 'link' }), ALICE],
    ['/dev/null', entry(0, 0o666, { kind: 'device' }), ALICE],
  ])('is trusted: %s', (_, found, trusted) => {
    expect(complaintAbout(found, trusted)).toBeUndefined();
  });

  it.each([
    ['of another user', entry(1001, 0o755), ALICE, /another user \(uid 1001\)/],
    ['of another user, for root', entry(1000, 0o755), ROOT, /another user/],
    ["another user's link", entry(1001, 0o777, { kind: 'link' }), ALICE, /another user/],
    ['for all without the sticky bit', entry(1000, 0o777), ALICE, /written to by other users/],
    ['for a group of many', entry(1000, 0o775, { gid: 100 }), ALICE_OF_USERS, /written to by other users/],
    ['a file that all may write, sticky or not', entry(1000, 0o1666, { kind: 'file' }), ALICE, /written to/],
  ])('is refused: %s', (_, found, trusted, problem) => {
    expect(complaintAbout(found, trusted)?.problem).toMatch(problem);
  });
});

describe('a folder of our own', () => {
  it.each([
    ['of root', entry(0, 0o755), /another user \(uid 0\)/],
    ['sticky and for all', entry(1000, 0o1777), /written to by other users/],
    ['of another user', entry(1001, 0o700), /another user/],
  ])('is none: %s', (_, found, problem) => {
    expect(complaintAboutOwn(found, ALICE)?.problem).toMatch(problem);
  });

  it('may belong to root on request', () => {
    expect(complaintAboutOwn(entry(0, 0o2775, { gid: 1000 }), ALICE, true)).toBeUndefined();
  });
});

describe.skipIf(trustedHere() === undefined)('a walk', () => {
  const trusted = trustedHere() as Trusted;
  let root: string;
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'hc-walk-')));
    mkdirSync(join(root, 'real/inner'), { recursive: true });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('follows relative and absolute links, and resolves `..` as the kernel does', () => {
    symlinkSync('real', join(root, 'relative'));
    symlinkSync(join(root, 'relative/inner'), join(root, 'absolute'));
    symlinkSync('relative/inner/../inner/.', join(root, 'back'));
    for (const name of ['relative/inner', 'absolute', 'back']) {
      expect(walkTrusted(join(root, name), trusted)).toBe(join(root, 'real/inner'));
    }
  });

  it('checks the path that a link leads through', () => {
    mkdirSync(join(root, 'open'));
    chmodSync(join(root, 'open'), 0o777);
    mkdirSync(join(root, 'open/below'));
    symlinkSync('open/below', join(root, 'link'));
    expect(() => walkTrusted(join(root, 'link'), trusted)).toThrow(
      expect.objectContaining({ path: join(root, 'open'), command: `chmod go-w ${join(root, 'open')}` }),
    );
  });

  it('creates nothing below a folder that other users may write to', () => {
    mkdirSync(join(root, "o'pen"));
    chmodSync(join(root, "o'pen"), 0o777);
    expect(() => walkTrusted(join(root, "o'pen/new"), trusted, 0o700)).toThrow(
      expect.objectContaining({ command: `chmod go-w '${join(root, "o'\\''pen")}'` }),
    );
    expect(readdirSync(join(root, "o'pen"))).toEqual([]);
  });

  it('stops at a loop of links', () => {
    symlinkSync('b', join(root, 'a'));
    symlinkSync('a', join(root, 'b'));
    expect(() => walkTrusted(join(root, 'a'), trusted)).toThrow(expect.objectContaining({ code: 'ELOOP' }));
  });

  it('refuses a file as a parent', () => {
    writeFileSync(join(root, 'file'), '');
    expect(() => walkTrusted(join(root, 'file/x'), trusted, 0o700)).toThrow(
      expect.objectContaining({ code: 'ENOTDIR' }),
    );
  });
});
