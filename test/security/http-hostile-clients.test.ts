import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServedHotcell, serveForTest, toolCall } from '../support/served-hotcell.ts';
import { strength } from '../support/strength.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skipped = await reasonToSkip(TARGETS.shared);

describe.skipIf(skipped !== undefined)('a client that means harm', () => {
  let hotcell: ServedHotcell;
  /** A server for clients that send half a request, or nothing, and then wait while the other tests run: it gives them ten seconds, and has no others to displace them. */
  let idle: ServedHotcell;
  let waiting: Promise<unknown>;
  beforeAll(async () => {
    hotcell = await serveForTest();
    idle = await serveForTest();
    const slow = ['POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ', ''].map((text) => {
      const socket = connect(idle.port, '127.0.0.1');
      socket.write(text);
      return ended(socket, 60_000);
    });
    waiting = Promise.all(slow);
    waiting.catch(() => {}); // the last test tells of it
  });
  afterAll(async () => {
    await hotcell[Symbol.asyncDispose]();
    await idle[Symbol.asyncDispose]();
  });

  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    hotcell.send('POST', '/mcp', { body, headers: { ...toolCall('list_sessions').headers, ...headers } });
  const works = async () => {
    const answer = await hotcell.send('POST', '/mcp', toolCall('list_sessions'));
    expect([answer.status, answer.body.toString()]).toEqual([200, expect.stringContaining('sessions')]);
  };

  it.each([
    ['nothing', ''],
    ['half a document', '{"jsonrpc":"2.0","id":1,'],
    ['no JSON', 'hello'],
    ['a number', '42'],
    ['null', 'null'],
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00, 0x80])],
    ['an empty list', '[]'],
    ['a list of nothing', '[null, 1, "x"]'],
    ['an object that says nothing', '{}'],
    ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"no/such"}'],
    ['a method that is no text', '{"jsonrpc":"2.0","id":1,"method":{}}'],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"tools/list"}'],
    ['another protocol', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}'],
    ['parameters that are no object', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}'],
    [
      'a prototype',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"__proto__","arguments":{"__proto__":{"x":1}}}}',
    ],
    ['a million brackets', '['.repeat(1_000_000)],
    ['a million brackets that close', '['.repeat(1_000_000) + ']'.repeat(1_000_000)],
    [
      'nesting inside arguments',
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_sessions","arguments":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}}`,
    ],
    ['a lone surrogate', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}'],
  ])('gets a clear answer to %s, and the next one is served', async (_, body) => {
    const { status, body: text } = await post(body);
    expect(status).toBeGreaterThanOrEqual(200);
    expect(status).toBeLessThan(500);
    expect(text.toString()).not.toMatch(/\n\s+at |node_modules/);
    await works();
  });

  it('is refused more than four megabytes, said or not, and is not read to the end', async () => {
    const large = Buffer.alloc(5_000_000, ' ');
    expect((await post(large)).status).toBe(413);
    expect((await post(large, { 'transfer-encoding': 'chunked' })).status).toBe(413);
    await works();
  });

  it('may send many large requests at once, and the others are served meanwhile', async () => {
    const count = strength({ plain: 50, all: 100 });
    const params = { name: 'x'.repeat(3_900_000) };
    // One body for all, and no answer is kept: what there is more than once is the server's, though both ends are in this process.
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
    const before = process.memoryUsage().rss;
    const flood = Array.from({ length: count }, () =>
      post(body).then(
        () => {},
        () => {},
      ),
    );
    await works();
    await Promise.all(flood);
    // Bytes and text of each in the server would be 7.8 MB for each of them.
    expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000 + count * 3_000_000);
    await works();
  });

  it('leaves nothing running when it goes before the session is there that it wants to run code in', async () => {
    const opening = hotcell.server.sessions.open(hotcell.nobody, { id: 'slow' });
    const body = JSON.stringify({ code: 'open("ran.txt", "w")\nimport time; time.sleep(60)' });
    const socket = connect(hotcell.port, '127.0.0.1');
    const head = 'POST /run/slow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json';
    socket.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await sleep(10);
    socket.destroy();
    const session = await opening;
    await sleep(500);
    expect(session.state()).toBe('idle');
    expect((await session.session.files.list('.')).entries).toEqual([]);
    await hotcell.server.sessions.close(hotcell.nobody, 'slow');
  });

  it('cannot hold the others up by sending a hundred bodies that never end', async () => {
    const sockets = Array.from({ length: 100 }, () => connect(hotcell.port, '127.0.0.1'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const socket of sockets) {
      socket.on('error', () => {});
      socket.write(
        'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
      );
    }
    await works();
    for (const socket of sockets) socket.destroy();
    await works();
  });

  it.each(['/mcp', '/run/any'])('cannot fill the memory with large bodies that never end: %s', async (path) => {
    const piece = Buffer.alloc(3_500_000, ' ');
    const before = process.memoryUsage().arrayBuffers;
    const sockets = Array.from({ length: 60 }, () => connect(hotcell.port, '127.0.0.1'));
    const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json`;
    for (const socket of sockets) {
      socket.on('error', () => {});
      socket.write(`${head}\r\nContent-Length: 4000000\r\n\r\n`);
      socket.write(piece); // the same for all: what is kept of it is kept by the server
    }
    await sleep(1_500);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100_000_000);
    await works();
    for (const socket of sockets) socket.destroy();
    await works();
  });

  it('leaves nothing half written when it goes in the middle of an upload', async () => {
    const session = await hotcell.server.sessions.open(hotcell.nobody, {});
    const socket = connect(hotcell.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(
      `PUT /files/${session.id}/half HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(100_000)}`,
    );
    await expect.poll(async () => (await session.session.files.list()).entries.length).toBe(1);
    socket.destroy();
    await expect.poll(async () => (await session.session.files.list()).entries).toEqual([]);
  });

  it('cannot keep a session busy with an upload of a byte now and then, and nothing of it is left', async () => {
    await using slow = await serveForTest({ stallMs: 3000 });
    const session = await slow.server.sessions.open(slow.nobody, {});
    await session.session.files.write('f', 'before');
    const socket = connect(slow.port, '127.0.0.1').on('error', () => {}); // it writes on until it has heard the answer
    const answered = once(socket, 'data');
    socket.write(`PUT /files/${session.id}/f HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n`);
    const trickle = setInterval(() => socket.write('x'), 100);
    await expect.poll(async () => (await session.session.files.list()).entries.length).toBe(2);
    expect((await session.session.files.read('f')).toString()).toBe('before');
    const [answer] = await answered;
    clearInterval(trickle);
    expect(String(answer)).toMatch(/^HTTP\/1\.1 408 [\s\S]+"code":"too_slow"/);
    socket.destroy();
    await expect.poll(async () => (await session.session.files.list()).entries.map(({ path }) => path)).toEqual(['f']);
    expect((await session.session.files.read('f')).toString()).toBe('before');
  });

  it('ends the reading of a file when it goes in the middle of it', async () => {
    const session = await hotcell.server.sessions.open(hotcell.nobody, {});
    await session.session.run('open("big", "wb").truncate(100_000_000)');
    const socket = connect(hotcell.port, '127.0.0.1');
    socket.write(`GET /files/${session.id}/big HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await once(socket, 'data');
    socket.destroy();
    const audit = join(hotcell.home, 'audit', 'audit.jsonl');
    const reads = () =>
      readFileSync(audit, 'utf8')
        .split('\n')
        .filter((line) => line.includes('"file-read"') && line.includes(session.id));
    await expect.poll(reads).toHaveLength(1);
    expect(JSON.parse(reads()[0]!).sizeBytes).toBeLessThan(50_000_000);
  });

  it.each([
    ['two lengths', 'Content-Length: 5\r\nContent-Length: 6\r\n'],
    ['a length and pieces', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n'],
    ['a length that is none', 'Content-Length: -1\r\n'],
    ['two hosts', 'Host: evil.example\r\n'],
    ['a folded header', 'X-A: b\r\n c\r\n'],
  ])('cannot smuggle a request in with %s', async (_, headers) => {
    const socket = connect(hotcell.port, '127.0.0.1');
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n{}\r\n\r\nGET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    );
    const [data] = await once(socket, 'data');
    expect(String(data)).toMatch(/^HTTP\/1\.1 (4\d\d) /);
    socket.destroy();
    await works();
  });

  it('is let go when it sends half a request, or nothing, and then waits', async () => {
    await waiting;
    expect((await idle.send('POST', '/mcp', toolCall('list_sessions'))).status).toBe(200);
  });
});

function ended(socket: Socket, withinMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('still connected')), withinMs);
    socket.on('error', () => {}).resume();
    socket.once('close', () => {
      clearTimeout(late);
      resolve();
    });
  });
}
