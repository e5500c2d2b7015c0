import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filePath, parseFilePath } from './file-path.ts';
import { type FileLink, signedPath, verifySignedPath } from './signed-url.ts';

const KEY = randomBytes(32);
const NOW_MS = 1_800_000_000_000;
const LINK: FileLink = {
  owner: 't-1',
  session: 'mine',
  uniqueId: 's-1',
  path: 'out/chart 1.png',
  expires: NOW_MS / 1000 + 60,
};

const name = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 12 })
  .filter((text) => !/[/\\\0]|^\.{1,2}$/.test(text));
const anyLink = fc.record({
  owner: name,
  session: name,
  uniqueId: name,
  path: fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/')),
  expires: fc.integer({ min: NOW_MS / 1000 + 1, max: NOW_MS / 1000 + 10 ** 6 }),
});
const links = fc.oneof(
  anyLink,
  anyLink.map((link) => ({ ...link, uniqueId: link.session })),
);

describe('a signed link', () => {
  it('returns what was signed, for any names', () => {
    fc.assert(
      fc.property(links, (link) => {
        expect(verifySignedPath(KEY, signedPath(KEY, link), NOW_MS)).toEqual(link);
      }),
    );
  });

  it('is valid until its expiry, exclusively', () => {
    const path = signedPath(KEY, LINK);
    expect(verifySignedPath(KEY, path, LINK.expires * 1000 - 1)).toEqual(LINK);
    expect(verifySignedPath(KEY, path, LINK.expires * 1000)).toBe('expired');
  });

  it('is invalid under another key', () => {
    expect(verifySignedPath(randomBytes(32), signedPath(KEY, LINK), NOW_MS)).toBe('tampered');
  });

  it('is invalid for another file, session, unique id, owner or expiry', () => {
    fc.assert(
      fc.property(links, links, (link, other) => {
        fc.pre(JSON.stringify(link) !== JSON.stringify(other));
        const query = signedPath(KEY, link).split('?')[1]!;
        const values = new URLSearchParams(query);
        values.set('owner', other.owner);
        if (other.uniqueId === other.session) values.delete('opening');
        else values.set('opening', other.uniqueId);
        values.set('expires', String(other.expires));
        expect(verifySignedPath(KEY, `${filePath(other)}?${values}`, NOW_MS)).toBe('tampered');
      }),
    );
  });

  it('is invalid after a change of any one character', () => {
    const path = signedPath(KEY, LINK);
    fc.assert(
      fc.property(fc.nat(path.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, character) => {
        const changed = path.slice(0, at) + character + path.slice(at + 1);
        const verified = verifySignedPath(KEY, changed, NOW_MS);
        // A change may produce another spelling of the same link, which is still valid.
        if (typeof verified === 'object') expect(verified).toEqual(LINK);
        else expect(verified).toBe('tampered');
      }),
    );
  });

  it('does not verify with a slash moved from one member to another', () => {
    const moved = signedPath(KEY, { ...LINK, path: 'a/b' }).replace('/mine/a/b', '/mine%2Fa/b');
    expect(verifySignedPath(KEY, moved, NOW_MS)).toBe('tampered');
  });

  it.each([
    ['no signature', (path: string) => path.replace(/&signature=.*/, '')],
    ['an empty one', (path: string) => path.replace(/signature=.*/, 'signature=')],
    ['a shorter one', (path: string) => path.slice(0, -4)],
    ['two of them', (path: string) => `${path}&signature=x`],
    ['two owners', (path: string) => `${path}&owner=t-2`],
    ['two openings', (path: string) => `${path}&opening=s-2`],
    ['no opening', (path: string) => path.replace(/opening=[^&]*&/, '')],
    ['an empty opening', (path: string) => path.replace(/opening=[^&]*/, 'opening=')],
    ['a later end, written so that it reads alike', (path: string) => path.replace('expires=', 'expires=0')],
    ['an end in another notation', (path: string) => path.replace(/expires=\d+/, 'expires=1e12')],
    ['no end', (path: string) => path.replace(/expires=\d+&/, '')],
  ])('with %s is refused', (_, change) => {
    expect(verifySignedPath(KEY, change(signedPath(KEY, LINK)), NOW_MS)).toBe('tampered');
  });

  it('with the unique id as the session has only one spelling', () => {
    const path = signedPath(KEY, { ...LINK, session: 's-1' });
    expect(verifySignedPath(KEY, path, NOW_MS)).toMatchObject({ session: 's-1', uniqueId: 's-1' });
    expect(verifySignedPath(KEY, `${path}&opening=s-1`, NOW_MS)).toBe('tampered');
  });
});

describe('the address of a file', () => {
  it.each([
    '/files/s/../x',
    '/files/s/%2e%2e/x',
    '/files/s/%2E./x',
    '/files/s/..%2fx',
    '/files/s/..%5Cx',
    '/files/s/a\\b',
    '/files/s/%00',
    '/files/s/a%00.png',
    '/files/s/%ff',
    '/files/s/%c0%ae%c0%ae/x',
    '/files/s/%',
    '/files/s/%2fetc%2fpasswd',
    '/files/s//etc/passwd',
    '/files/s/./x',
    '/files/s/',
    '/files/s',
    '/files//x',
    '/files/../x',
    '/files/%2e%2e/x',
    '/file/s/x',
    `/files/s/${'x'.repeat(5000)}`,
  ])('names no file in %s', (path) => {
    expect(parseFilePath(path)).toBeUndefined();
  });

  it('is decoded once', () => {
    expect(parseFilePath('/files/s/%252e%252e/%2525')).toEqual({ session: 's', path: '%2e%2e/%25' });
  });
});
