import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ManagedSession } from '../../src/directory/directory.ts';
import { createLinkMaker } from '../../src/http/file-links.ts';
import { linkKey } from '../../src/http/link-key.ts';
import { type ServedHotcell, serveForTest } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skipped = await reasonToSkip(TARGETS.shared);

describe.skipIf(skipped !== undefined)('files of a session over HTTP', () => {
  let hotcell: ServedHotcell;
  let session: ManagedSession;
  let mine: string;
  let theirs: string;
  let myId: string;
  beforeAll(async () => {
    hotcell = await serveForTest({ tokens: 'always' }, async (tokens) => {
      const token = await tokens.create('me');
      mine = token.text;
      myId = token.id;
      theirs = (await tokens.create('them')).text;
    });
    session = await hotcell.server.sessions.open(hotcell.ownerOf(myId), { id: 'work' });
    const { files } = session.session;
    await files.write('a/b.txt', 'hello world');
    await files.write('page.html', '<script>alert(1)</script>');
    await files.write('%2e%2e', 'an odd name');
    await files.write('ein Bild — 図.svg', '<svg onload="alert(1)"/>');
    await session.session.run(
      'import os\nos.symlink("/etc/passwd", "link")\nos.symlink("/etc", "folder")\nos.mkfifo("fifo")\nos.symlink("/dev/zero", "zero")',
    );
  });
  afterAll(() => hotcell[Symbol.asyncDispose]());

  const get = (path: string, headers: Record<string, string> = {}) =>
    hotcell.send('GET', path, { token: mine, headers });
  const link = (path: string, lifetimeMs = 60_000, key = linkKey(hotcell.home, undefined)) => {
    const maker = createLinkMaker({ key, baseUrl: 'http://x', lifetimeMs });
    return maker.linkTo(myId, session.uniqueId, path)!.slice('http://x'.length);
  };

  it('come whole, in part and as headers alone', async () => {
    const whole = await get('/files/work/a/b.txt');
    expect([whole.status, whole.body.toString()]).toEqual([200, 'hello world']);
    expect(whole.headers).toMatchObject({
      'content-length': '11',
      'content-type': 'text/plain; charset=utf-8',
      'accept-ranges': 'bytes',
    });
    const part = await get('/files/work/a/b.txt', { range: 'bytes=6-8' });
    expect([part.status, part.body.toString(), part.headers['content-range']]).toEqual([206, 'wor', 'bytes 6-8/11']);
    const beyond = await get('/files/work/a/b.txt', { range: 'bytes=11-' });
    expect([beyond.status, beyond.headers['content-range']]).toEqual([416, 'bytes */11']);
    const head = await hotcell.send('HEAD', '/files/work/a/b.txt', { token: mine });
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, '11', 0]);
  });

  it('go in by PUT, replace or refuse to replace, and are empty if need be', async () => {
    const put = (path: string, body: string, headers = {}) => hotcell.send('PUT', path, { token: mine, body, headers });
    expect((await put('/files/work/new/in.bin', 'one')).json()).toEqual({
      session_id: 'work',
      path: 'new/in.bin',
      size_bytes: 3,
    });
    expect((await put('/files/work/new/in.bin', 'three')).status).toBe(201);
    const refused = await put('/files/work/new/in.bin', 'x', { 'if-none-match': '*' });
    expect([refused.status, refused.json()]).toMatchObject([409, { error: { code: 'file_exists' } }]);
    expect((await get('/files/work/new/in.bin')).body.toString()).toBe('three');
    expect((await put('/files/work/empty', '')).status).toBe(201);
    const empty = await get('/files/work/empty');
    expect([empty.status, empty.body.length]).toEqual([200, 0]);
  });

  it.each([
    '../../../etc/passwd',
    '..%2f..%2fetc/passwd',
    '%2e%2e/%2e%2e/etc/passwd',
    '%252e%252e/%252e%252e/etc/passwd',
    '..%5c..%5cetc%5cpasswd',
    '....//....//etc/passwd',
    '%c0%ae%c0%ae/etc/passwd',
    '%00',
    'a%00/b.txt',
    '/etc/passwd',
    '%2fetc%2fpasswd',
    '%ff%fe',
    'link',
    'folder/passwd',
    'fifo',
    'zero',
    'a',
    '.',
    'x'.repeat(5000),
    `${'x/'.repeat(2500)}x`,
  ])('never lead out of the workspace: %s', async (path) => {
    for (const method of ['GET', 'HEAD', 'PUT']) {
      const answer = await hotcell.send(method, `/files/work/${path}`, {
        token: mine,
        ...(method === 'PUT' ? { body: 'x' } : {}),
      });
      expect([400, 404]).toContain(answer.status);
      expect(answer.body.toString()).not.toContain('root:');
    }
  });

  it('take a name for what it is after one decoding', async () => {
    expect((await get('/files/work/%252e%252e')).body.toString()).toBe('an odd name');
  });

  it("are not found in another's session, by its id, its unique id or its name, to read or to write", async () => {
    for (const id of ['work', session.uniqueId, 'default', 'none']) {
      for (const method of ['GET', 'HEAD', 'PUT']) {
        const there = await hotcell.send(method, `/files/${id}/a/b.txt`, {
          token: theirs,
          ...(method === 'PUT' ? { body: 'x' } : {}),
        });
        if (id === 'default')
          expect([404, 201]).toContain(there.status); // their own, just opened
        else expect(there.status).toBe(404);
      }
    }
    expect((await get('/files/work/a/b.txt')).body.toString()).toBe('hello world');
  });

  it('come by a link without a token, and only that file, to read, until its end', async () => {
    const path = link('a/b.txt');
    const answer = await hotcell.send('GET', path);
    expect([answer.status, answer.body.toString()]).toEqual([200, 'hello world']);
    expect((await hotcell.send('HEAD', path)).status).toBe(200);
    expect((await hotcell.send('PUT', path, { body: 'x' })).status).toBe(401);
    expect((await hotcell.send('DELETE', path)).status).toBe(405);
    expect((await hotcell.send('GET', path.replace('a/b.txt', 'page.html'))).status).toBe(403);
    expect((await hotcell.send('GET', path.replace('a/b.txt', 'a/%62.txt'))).status).toBe(200); // the same name
    expect((await hotcell.send('GET', path.replace('a/b.txt', 'x/../a/b.txt'))).status).toBe(400);
    expect((await hotcell.send('GET', changed(path, 'signature='))).status).toBe(403);
    expect((await hotcell.send('GET', path.replace(/expires=\d/, 'expires=9'))).status).toBe(403);
    expect((await hotcell.send('GET', changed(path, 'owner=t-'))).status).toBe(403);
    expect((await hotcell.send('GET', link('a/b.txt', -1000))).status).toBe(410);
    expect((await hotcell.send('GET', link('a/b.txt', 60_000, Buffer.alloc(32)))).status).toBe(403);
    // A signature is no token: with one that is wrong, the token beside it does not count.
    expect((await hotcell.send('GET', changed(path, 'signature='), { token: mine })).status).toBe(403);
  });

  it.each(['page.html', 'ein Bild — 図.svg'])('never run as a page of ours: %s', async (path) => {
    const { headers } = await hotcell.send('GET', link(path));
    expect(headers['content-disposition']).toMatch(/^attachment; filename=/);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['content-security-policy']).toMatch(/^sandbox;/);
    expect(headers['cross-origin-resource-policy']).toBe('same-origin');
  });

  it('are held to the limit while they come, whatever was said of their length', async () => {
    await using small = await serveForTest({ maxUploadBytes: 1000 });
    const one = await small.server.sessions.open(small.nobody, {});
    const path = `/files/${one.id}/x`;
    const said = await small.send('PUT', path, { body: Buffer.alloc(1001) });
    expect([said.status, said.json()]).toMatchObject([413, { error: { code: 'file_too_large' } }]);
    const unsaid = await small.send('PUT', path, {
      body: Buffer.alloc(2000),
      headers: { 'transfer-encoding': 'chunked' },
    });
    expect(unsaid.status).toBe(413);
    expect((await small.send('GET', path)).status).toBe(404);
    expect((await small.send('PUT', path, { body: Buffer.alloc(1000) })).status).toBe(201);
  });

  it('of a session that is known by a name alone are not shown inside a page of somebody else', async () => {
    await using open = await serveForTest();
    const one = await open.server.sessions.open(open.nobody, { name: 'guessable' });
    await one.session.files.write('x.png', 'x');
    for (const site of ['cross-site', 'same-site']) {
      expect((await open.send('GET', '/files/guessable/x.png', { headers: { 'sec-fetch-site': site } })).status).toBe(
        403,
      );
    }
    expect((await open.send('GET', '/files/guessable/x.png')).status).toBe(200);
  });

  it('are not given by a link of a session that was closed, when another is opened under its id', async () => {
    await using own = await serveForTest();
    const maker = createLinkMaker({ key: linkKey(own.home, undefined), baseUrl: '', lifetimeMs: 60_000 });
    const open = async (content: string) => {
      const one = await own.server.sessions.open(own.nobody, { id: 'mine' });
      await one.session.files.write('f', content);
      return maker.linkTo('anonymous', one.uniqueId, 'f', one.id)!;
    };
    const old = await open('old');
    expect(old).toMatch(/^\/files\/mine\/f\?/);
    expect((await own.send('GET', old)).body.toString()).toBe('old');
    await own.server.sessions.close(own.nobody, 'mine');
    const young = await open('young');
    expect((await own.send('GET', young)).body.toString()).toBe('young');
    expect((await own.send('GET', old)).status).toBe(404);
    const opening = /opening=([^&]+)/.exec(young)![1]!;
    expect((await own.send('GET', old.replace(/opening=[^&]+/, `opening=${opening}`))).status).toBe(403);
    expect((await own.send('GET', old.replace(/opening=[^&]+&/, ''))).status).toBe(403);
  });

  it('end with the token of their owner, sessions, links and all', async () => {
    let token = { id: '', text: '' };
    await using own = await serveForTest({ tokens: 'always' }, async (tokens) => {
      token = await tokens.create('short');
    });
    const one = await own.server.sessions.open(own.ownerOf(token.id), { id: 'x' });
    await one.session.files.write('f', 'x');
    expect((await own.send('GET', '/files/x/f', { token: token.text })).status).toBe(200);
    const maker = createLinkMaker({ key: linkKey(own.home, undefined), baseUrl: '', lifetimeMs: 60_000 });
    const path = maker.linkTo(token.id, one.uniqueId, 'f')!;
    expect((await own.send('GET', path)).status).toBe(200);
    await own.tokens.revoke('short');
    expect((await own.send('GET', '/files/x/f', { token: token.text })).status).toBe(401);
    expect((await own.send('GET', path)).status).toBe(404);
    await expect.poll(() => own.server.sessions.find(one.uniqueId)).toBeUndefined();
  });
});

/** The same with another character behind `after`. */
function changed(text: string, after: string): string {
  const at = text.indexOf(after) + after.length;
  return text.slice(0, at) + (text[at] === 'a' ? 'b' : 'a') + text.slice(at + 1);
}
