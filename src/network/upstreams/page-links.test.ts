import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientOf, isPage, linkStream, withOwnLinks } from './page-links.ts';
import { credentialsSchema } from './upstream.ts';

const through = { name: 'registry-1', client: '127.0.0.1:4000' };
const CREDENTIAL = credentialsSchema.parse({ one: { url: 'https://mirror.example/', secret: { env: 'X' } } }).one!;
const changed = (page: string, url = 'https://mirror.example/') => withOwnLinks(page, { url }, through);

describe('links of a page', () => {
  it('to the same server lead through the credential', () => {
    expect(changed('<a href="https://mirror.example/files/a.whl#sha256=0">a</a>')).toBe(
      '<a href="http://127.0.0.1:4000/registry-1/files/a.whl#sha256=0">a</a>',
    );
    expect(changed("<a href='/files/a.whl'>a</a>")).toBe(
      "<a href='http://127.0.0.1:4000/registry-1/files/a.whl'>a</a>",
    );
    expect(changed('{"url": "/files/a.whl", "tarball":"https://mirror.example/a.tgz"}')).toBe(
      '{"url": "http://127.0.0.1:4000/registry-1/files/a.whl", "tarball":"http://127.0.0.1:4000/registry-1/a.tgz"}',
    );
  });

  it('elsewhere, and relative ones, stay as they are', () => {
    for (const page of [
      '<a href="https://other.example/a.whl">a</a>',
      '<a href="https://mirror.example.evil/a.whl">a</a>',
      '<a href="http://mirror.example/a.whl">a</a>',
      '<a href="//other.example/a.whl">a</a>',
      '<a href="../../files/a.whl">a</a>',
    ])
      expect(changed(page)).toBe(page);
  });

  it('to another part of the server than that of the credential stay as they are', () => {
    const url = 'https://mirror.example/team/pypi/';
    expect(changed('<a href="/team/pypi/files/a.whl">', url)).toBe(
      '<a href="http://127.0.0.1:4000/registry-1/files/a.whl">',
    );
    for (const page of ['<a href="/other/a.whl">', '<a href="https://mirror.example/team/pypi-evil/a.whl">'])
      expect(changed(page, url)).toBe(page);
  });

  it('are changed in HTML and JSON alone', () => {
    for (const type of [
      'text/html',
      'text/html; charset=utf-8',
      'application/json',
      'application/vnd.pypi.simple.v1+json',
      'application/vnd.npm.install-v1+json',
    ])
      expect(isPage(type)).toBe(true);
    for (const type of [undefined, 'application/octet-stream', 'text/plain', 'application/zip'])
      expect(isPage(type)).toBe(false);
  });

  it('name the address of a listener in the sandbox, and nothing else that a client says', () => {
    expect(clientOf('127.0.0.1:4000')).toBe('127.0.0.1:4000');
    for (const host of [undefined, 'evil.example', '127.0.0.1', '127.0.0.1:4000"><script>'])
      expect(clientOf(host)).toBeUndefined();
  });

  it('are changed in the same way wherever the chunks of a response end', async () => {
    const part = fc.constantFrom(
      ...['<a href="https://mirror.example/a.whl">a</a>', "<a href='/b.whl'>b</a>\n", '{"url":"/files/c.whl"},'],
      ...[
        '"tarball" : "https://mirror.example/d.tgz",',
        '{"url" : "/e"}',
        'text, with "words" ',
        'https://mirror.example/f',
      ],
    );
    const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 12 }), sizes, async (parts, cuts) => {
        const page = parts.join('');
        const chunks: Buffer[] = [];
        for (let at = 0, turn = 0; at < page.length; turn += 1) {
          const size = cuts[turn % cuts.length]!;
          chunks.push(Buffer.from(page.slice(at, at + size)));
          at += size;
        }
        expect(await text(Readable.from(chunks).pipe(linkStream(CREDENTIAL, through, [])))).toBe(changed(page));
      }),
    );
  });

  it('are changed without holding the page, and one that cannot be cut fails', async () => {
    const link = '<a href="/x">x</a>';
    const many = linkStream(CREDENTIAL, through, []);
    for (let piece = 0; piece < 100; piece += 1) {
      many.write(Buffer.from(link.repeat(1000)));
      expect((many.read() as Buffer).length).toBeGreaterThan(17_000);
    }
    const uncut = Readable.from(Array.from({ length: 40 }, () => Buffer.alloc(65_536, 'x')));
    await expect(text(uncut.pipe(linkStream(CREDENTIAL, through, [])))).rejects.toThrow('cannot be cut');
  });
});
