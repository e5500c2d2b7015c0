import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { NetworkEvent, NetworkSetting, SessionNetwork } from '../../src/network/contract.ts';
import { parsePolicy } from '../../src/network/policy.ts';
import { createSessionNetwork, type SessionNetworkOptions } from '../../src/network/session-network.ts';
import { type Loopback, readAll, startLoopback } from '../support/loopback-servers.ts';
import { usedBytes } from '../support/used-memory.ts';

let loopback: Loopback;
let events: NetworkEvent[];

beforeEach(() => {
  loopback = startLoopback();
  events = [];
});

afterEach(() => loopback.close());

function network(setting: NetworkSetting, options: Partial<SessionNetworkOptions> = {}): SessionNetwork {
  const policy = parsePolicy(setting);
  return createSessionNetwork({
    rules: { ceiling: policy, wanted: policy },
    onEvent: (event) => events.push(event),
    reach: { resolve: async () => ['127.0.0.1'] },
    ...options,
  });
}

const httpServer = (handle: RequestListener) => loopback.listen(createServer(handle));
const refusals = () => events.flatMap((event) => (event.event === 'refused' ? [event.refusal] : []));

/** One request through the proxy, by Node's own client. */
async function get(
  made: SessionNetwork,
  url: string,
  options: { method?: string; body?: string; headers?: Record<string, string> } = {},
) {
  const socket = await loopback.httpClient(made);
  const asking = request({
    createConnection: () => socket,
    method: options.method ?? 'GET',
    path: url,
    headers: { host: new URL(url).host, ...options.headers },
  });
  asking.end(options.body);
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

/** Raw bytes through the proxy, and all that comes back. */
async function raw(made: SessionNetwork, bytes: string): Promise<string> {
  const socket = await loopback.httpClient(made);
  socket.write(bytes);
  return await readAll(socket);
}

describe('a request of a plain HTTP proxy', () => {
  test('is passed on without the headers between neighbours, and so is its response', async () => {
    const seen: Record<string, unknown>[] = [];
    const port = await httpServer((incoming, outgoing) => {
      seen.push({ url: incoming.url, headers: incoming.headers });
      outgoing.setHeader('X-Own', ['1', '2']).setHeader('Proxy-Authenticate', 'x').end('body');
    });
    const headers = { 'Proxy-Authorization': 'Basic secret', 'X-Hop': '1', Connection: 'X-Hop', Accept: 'text/plain' };
    const response = await get(network([`server.test:${port}`]), `http://server.test:${port}/a/../b?q=%20`, {
      headers,
    });
    expect(response).toMatchObject({ status: 200, body: 'body', headers: { 'x-own': '1, 2' } });
    expect(response.headers).not.toHaveProperty('proxy-authenticate');
    expect(seen).toEqual([
      { url: '/a/../b?q=%20', headers: { host: `server.test:${port}`, accept: 'text/plain', connection: 'close' } },
    ]);
    await expect.poll(() => events.map(({ event }) => event)).toEqual(['opened', 'closed']);
    // The headers count too: 'X-Own', '1', 'X-Own', '2', 'Proxy-Authenticate', 'x' and Node's own.
    expect(events[1]).toMatchObject({ how: 'ended', receivedBytes: expect.toSatisfy((bytes) => bytes > 4 + 31) });
  });

  test.each<Record<string, string>>([{ 'Content-Length': '5' }, { 'Transfer-Encoding': 'chunked' }])(
    'carries a body with %o',
    async (headers) => {
      const port = await httpServer(async (incoming, outgoing) =>
        outgoing.end(`${incoming.method} ${await text(incoming)}`),
      );
      const made = network([`server.test:${port}`]);
      for (const method of ['POST', 'GET', 'DELETE'])
        expect(await get(made, `http://server.test:${port}/`, { method, body: 'hello', headers })).toMatchObject({
          body: `${method} hello`,
        });
    },
  );

  test('cannot hide a second request in the body of a first one', async () => {
    const seen: string[] = [];
    const port = await httpServer(async (incoming, outgoing) => {
      seen.push(`${incoming.url} ${await text(incoming)}`);
      outgoing.end();
    });
    const hidden = 'GET /hidden HTTP/1.1\r\nHost: other.test\r\n\r\n';
    const head = `GET http://server.test:${port}/ HTTP/1.1\r\nHost: server.test:${port}\r\nConnection: close\r\n`;
    const made = network([`server.test:${port}`]);
    await raw(made, `${head}Transfer-Encoding: chunked\r\n\r\n${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`);
    await raw(made, `${head}Content-Length: ${hidden.length}\r\n\r\n${hidden}`);
    expect(seen).toEqual([`/ ${hidden}`, `/ ${hidden}`]);
    // Two ways to say where it ends: Node's parser refuses them.
    expect(await raw(made, `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`)).toMatch(
      /^HTTP\/1.1 400/,
    );
    expect(await raw(made, `${head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`)).toMatch(
      /^(HTTP\/1.1 400|$)/,
    );
    expect(seen).toHaveLength(2);
  });

  test.each(['GET', 'POST'])('cannot hide one behind more headers than Node keeps: %s', async (method) => {
    const seen: string[] = [];
    const port = await httpServer(async (incoming, outgoing) => {
      seen.push(`${incoming.url} ${await text(incoming)}`);
      outgoing.end();
    });
    const hidden = 'GET /hidden HTTP/1.1\r\nHost: other.test\r\n\r\n';
    for (const delimiter of [
      `Content-Length: ${hidden.length}\r\n\r\n${hidden}`,
      `Transfer-Encoding: chunked\r\n\r\n${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`,
    ]) {
      const head = `${method} http://server.test:${port}/ HTTP/1.1\r\nHost: server.test:${port}\r\nConnection: close\r\n`;
      for (const headers of [200, 260, 1100, 3000])
        await raw(network([`server.test:${port}`]), `${head}${'x: y\r\n'.repeat(headers)}${delimiter}`);
    }
    // Those with few headers.
    expect(seen).toEqual([`/ ${hidden}`, `/ ${hidden}`]);
  });

  test('is checked on its own, even on a connection that was allowed before', async () => {
    const port = await httpServer((incoming, outgoing) => outgoing.end(`[${incoming.headers.host}]`));
    const one = (host: string) => `GET http://${host}:${port}/ HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`;
    const answer = await raw(
      network([`server.test:${port}`]),
      `${one('server.test')}${one('other.test')}${one('server.test')}`,
    );
    expect(answer).toContain(`[server.test:${port}]`);
    expect(answer).toContain('HTTP/1.1 403');
    expect(refusals()).toEqual([{ host: 'other.test', port, why: 'not-allowed' }]);
  });

  test('for another Host than its target is refused, and the server is not asked', async () => {
    let asked = 0;
    const port = await httpServer((_, outgoing) => {
      asked += 1;
      outgoing.end();
    });
    const made = network([`server.test:${port}`, `other.test:${port}`]);
    const head = `GET http://server.test:${port}/ HTTP/1.1\r\nConnection: close\r\n`;
    expect(await raw(made, `${head}Host: other.test:${port}\r\n\r\n`)).toMatch(/^HTTP\/1.1 403/);
    expect(await raw(made, `${head}Host: server.test:${port}\r\nHost: other.test:${port}\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 400/,
    );
    expect(await raw(made, `${head}\r\n`)).toMatch(/^HTTP\/1.1 400/);
    expect(refusals().map(({ why }) => why)).toEqual(['other-server-name', 'bad-request', 'bad-request']);
    expect(asked).toBe(0);
  });

  test.each([
    'GET / HTTP/1.1',
    'GET https://server.test/ HTTP/1.1',
    'GET http://server.test@evil.test/ HTTP/1.1',
    'OPTIONS * HTTP/1.1',
  ])('is not %s', async (line) => {
    expect(await raw(network('all'), `${line}\r\nHost: server.test\r\nConnection: close\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 400/,
    );
  });

  test('is no CONNECT, and no plain HTTP to a port for TLS', async () => {
    expect(await raw(network('all'), 'CONNECT server.test:443 HTTP/1.1\r\nHost: server.test:443\r\n\r\n')).toBe('');
    expect(
      await get(network(['server.test']), 'http://server.test:443/', { headers: { host: 'server.test:443' } }),
    ).toMatchObject({ status: 403 });
    expect(refusals()).toEqual([{ host: 'server.test', port: 443, why: 'not-tls' }]);
  });

  test('that is redirected goes back to the client', async () => {
    const port = await httpServer((_, outgoing) =>
      outgoing.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    );
    expect(await get(network([`server.test:${port}`]), `http://server.test:${port}/`)).toMatchObject({
      status: 302,
      headers: { location: 'http://169.254.169.254/' },
    });
    expect(events.filter(({ event }) => event === 'opened')).toHaveLength(1);
  });

  test('to a private address is refused, and the reason is in the response', async () => {
    expect(await get(network('all'), 'http://server.test/')).toMatchObject({
      status: 403,
      body: 'The network policy of this session refuses server.test:80: private-address.\n',
    });
  });

  test('to a server that never answers, or resets, gets an answer of ours', async () => {
    const silent = await loopback.tcp((socket) => socket.resume());
    const made = network([`server.test:${silent}`], { limits: { idleMs: 80 } });
    expect(await get(made, `http://server.test:${silent}/`)).toMatchObject({ status: 504 });
    const resets = await loopback.tcp((socket) => socket.once('data', () => socket.resetAndDestroy()));
    expect(await get(network([`server.test:${resets}`]), `http://server.test:${resets}/`)).toMatchObject({
      status: 502,
    });
    const garbage = await loopback.tcp((socket) => socket.end('SSH-2.0-server\r\n'));
    expect(await get(network([`server.test:${garbage}`]), `http://server.test:${garbage}/`)).toMatchObject({
      status: 502,
    });
    expect(made.counters().open).toBe(0);
  });

  test('whose response is cut off is seen to be cut off', async () => {
    const port = await loopback.tcp((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf')),
    );
    await expect(get(network([`server.test:${port}`]), `http://server.test:${port}/`)).rejects.toThrow('aborted');
    expect(events.at(-1)).toMatchObject({ event: 'closed', how: 'broken' });
  });

  test('whose response never ends is ended at the limit of the session', async () => {
    const port = await httpServer((_, outgoing) => {
      const send = () => {
        while (!outgoing.destroyed && outgoing.write(Buffer.alloc(65_536)));
      };
      outgoing.on('drain', send);
      send();
    });
    const made = network([`server.test:${port}`], { limits: { receivedBytes: 1_000_000 } });
    await expect(get(made, `http://server.test:${port}/`)).rejects.toThrow('aborted');
    expect(refusals()).toEqual([{ host: 'server.test', port, why: 'too-many-bytes' }]);
    expect(made.counters()).toMatchObject({ open: 0 });
    expect(made.counters().receivedBytes).toBeLessThanOrEqual(1_000_000);
  });

  test('whose response has no body but headers counts, too', async () => {
    const port = await httpServer((_, outgoing) => outgoing.setHeader('X-Data', 'x'.repeat(10_000)).end());
    const made = network([`server.test:${port}`], { limits: { receivedBytes: 15_000 } });
    expect(await get(made, `http://server.test:${port}/`)).toMatchObject({ status: 200 });
    expect(await get(made, `http://server.test:${port}/`)).toMatchObject({ status: 403 });
    expect(refusals()).toEqual([{ host: 'server.test', port, why: 'too-many-bytes' }]);
  });

  test('ends when the policy no longer allows it', async () => {
    const asked: IncomingMessage[] = [];
    const port = await httpServer((incoming) => asked.push(incoming));
    const made = network([`server.test:${port}`]);
    const answer = get(made, `http://server.test:${port}/`);
    await expect.poll(() => asked.length).toBe(1);
    made.change({ ceiling: parsePolicy('none'), wanted: parsePolicy('none') });
    expect(await answer).toMatchObject({ status: 403 });
    expect(refusals()).toMatchObject([{ why: 'policy-changed' }]);
  });
});

describe('a tunnel to the port of plain HTTP', () => {
  test('is checked request by request', async () => {
    const port = await httpServer((incoming, outgoing) => outgoing.end(`[${incoming.headers.host}${incoming.url}]`));
    const made = network([`server.test:${port}`, `other.test:${port}`], { httpOnlyPorts: [port] });
    const { socket, ended } = await loopback.client(made, { host: 'server.test', port });
    const one = (host: string, path = '/') => `GET ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`;
    socket.write(`${one('server.test')}${one('server.test', `http://other.test:${port}/`)}${one('other.test')}`);
    const answer = await readAll(socket);
    expect(answer).toContain(`[server.test:${port}/]`);
    expect(answer).not.toContain('[other.test');
    expect(refusals()[0]).toEqual({ host: 'server.test', port, why: 'other-server-name', saw: 'other.test' });
    expect(refusals().every(({ why }) => why === 'other-server-name')).toBe(true);
    socket.destroy();
    expect(await ended).toEqual({ kind: 'ended' });
    expect(made.counters().open).toBe(0);
  });

  test('passes nothing on that is not HTTP', async () => {
    const accepted: Socket[] = [];
    const port = await loopback.tcp((socket) => accepted.push(socket.resume()));
    const made = network([`server.test:${port}`], { httpOnlyPorts: [port] });
    const { socket } = await loopback.client(made, { host: 'server.test', port });
    socket.write('SSH-2.0-client\r\n');
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 400/);
    expect(accepted.map(({ bytesRead }) => bytesRead)).toEqual([0]);
  });
});

describe('a client of the plain HTTP proxy', () => {
  test('that sends what Node would not send gets an answer, and the host lives', async () => {
    const port = await httpServer((incoming, outgoing) => outgoing.end(incoming.url));
    const made = network([`server.test:${port}`]);
    for (const path of ['/\x80\xff', '/a b', '/\x7f', '/%', '/"<>', `/${'x'.repeat(60_000)}`]) {
      const socket = await loopback.httpClient(made);
      const head = `GET http://server.test:${port}${path} HTTP/1.1\r\nHost: server.test:${port}\r\nX: \x80\xff\r\nConnection: close\r\n\r\n`;
      socket.write(Buffer.from(head, 'latin1'));
      expect(await readAll(socket)).toMatch(/^HTTP\/1.1 (200|400|431|502)/);
    }
    await expect.poll(() => made.counters().open).toBe(0);
  });

  test.each([
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
    'HTTP/1.1 099 Odd\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX: \x01\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(200_000)}`,
  ])('gets an answer of ours where a server answers %j', async (answer) => {
    const port = await loopback.tcp((socket) => socket.once('data', () => socket.end(answer)));
    const made = network([`server.test:${port}`]);
    expect((await get(made, `http://server.test:${port}/`)).status).toBe(502);
    await expect.poll(() => made.counters().open).toBe(0);
  });

  test('gets the reason phrase of the status, whatever the server calls it', async () => {
    const port = await loopback.tcp((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 \x01\x1b[2J\r\nContent-Length: 0\r\n\r\n')),
    );
    const one = `GET http://server.test:${port}/ HTTP/1.1\r\nHost: server.test:${port}\r\nConnection: close\r\n\r\n`;
    expect(await raw(network([`server.test:${port}`]), one)).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  });

  test('may send some requests without waiting, and is ended when it does not stop', async () => {
    let asked = 0;
    const port = await httpServer((_, outgoing) => {
      asked += 1;
      outgoing.end('x');
    });
    const made = network([`server.test:${port}`]);
    const one = `GET http://server.test:${port}/ HTTP/1.1\r\nHost: server.test:${port}\r\n\r\n`;
    const few = await loopback.httpClient(made);
    few.write(one.repeat(20));
    await expect.poll(() => asked).toBe(20);
    expect(await raw(made, one.repeat(1000))).toBe('');
    for (const odd of ['Expect: x', 'Expect: 100-continue']) {
      const answer = await raw(made, one.replace('\r\n\r\n', `\r\n${odd}\r\n\r\n`).repeat(1000));
      expect(answer.split('HTTP/1.1 ').length).toBeLessThan(40);
    }
    expect(asked).toBeLessThan(100);
  });

  test('that sends its body in very many pieces is ended, on whatever connections', async () => {
    const received: number[] = [];
    const port = await httpServer((incoming) => incoming.on('data', ({ length }) => received.push(length)));
    const made = network([`server.test:${port}`]);
    const head = `POST http://server.test:${port}/ HTTP/1.1\r\nHost: server.test:${port}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const pieces = '1\r\nx\r\n'.repeat(4000);
    const clients = await Promise.all(Array.from({ length: 40 }, () => loopback.httpClient(made)));
    for (const client of clients) client.resume().write(head + pieces);
    await expect.poll(() => clients.filter(({ readableEnded }) => readableEnded).length).toBeGreaterThan(20);
    const large = (await loopback.httpClient(made)).resume();
    large.write(`${head}${`400\r\n${'x'.repeat(1024)}\r\n`.repeat(100)}`);
    await expect.poll(() => received.some((length) => length >= 1024)).toBe(true);
    expect(large.readableEnded).toBe(false);
  });

  test('whose servers answer in very many pieces is ended, on whatever connections', async () => {
    const port = await loopback.tcp((socket) =>
      socket.once('data', (asked) => {
        const piece = asked.includes('/large') ? `400\r\n${'x'.repeat(1024)}\r\n` : '1\r\nx\r\n';
        socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${piece.repeat(4000)}`);
      }),
    );
    const made = network([`server.test:${port}`]);
    const ask = async (path: string) => {
      const client = (await loopback.httpClient(made)).resume();
      client.write(`GET http://server.test:${port}/${path} HTTP/1.1\r\nHost: server.test:${port}\r\n\r\n`);
      return client;
    };
    const clients = await Promise.all(Array.from({ length: 40 }, () => ask('small')));
    await expect.poll(() => clients.filter(({ readableEnded }) => readableEnded).length).toBeGreaterThan(20);
    const large = await ask('large');
    await expect.poll(() => large.bytesRead).toBeGreaterThan(4_000_000);
    expect(large.readableEnded).toBe(false);
  });

  test.each([
    { before: 10, status: '200 OK' },
    { before: 5000, status: '502 Bad Gateway' },
  ])('whose server answers $before times before its answer gets $status', async ({ before, status }) => {
    const port = await loopback.tcp((socket) =>
      socket.once('data', () =>
        socket.end(
          `${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(before)}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`,
        ),
      ),
    );
    const request = `GET http://server.test:${port}/ HTTP/1.1\r\nHost: server.test:${port}\r\nConnection: close\r\n\r\n`;
    expect(await raw(network([`server.test:${port}`]), request)).toContain(`HTTP/1.1 ${status}`);
  });

  test('that lets requests with very many headers wait is ended, on whatever connections', async () => {
    const port = await httpServer((incoming, outgoing) => void (incoming.url === '/plain' && outgoing.end('plain')));
    const made = network([`server.test:${port}`]);
    const head = (path: string) => `GET http://server.test:${port}/${path} HTTP/1.1\r\nHost: server.test:${port}\r\n`;
    const clients = await Promise.all(Array.from({ length: 3 }, () => loopback.httpClient(made)));
    const before = usedBytes();
    for (const client of clients) client.resume().write(`${head('')}${'aa:bb\r\n'.repeat(9000)}\r\n`.repeat(6));
    await expect.poll(() => clients.filter(({ destroyed }) => destroyed).length).toBe(3);
    await expect.poll(() => usedBytes() - before).toBeLessThan(24e6);
    // The headers that were sent count for some seconds.
    await expect.poll(async () => (await get(made, `http://server.test:${port}/plain`)).body).toBe('plain');
  });

  test('that sends very many headers in a short time is ended, whatever their requests, and recovers', async () => {
    let served = 0;
    const port = await httpServer((_, outgoing) => {
      served += 1;
      outgoing.end();
    });
    const made = network([`server.test:${port}`]);
    const head = `GET http://server.test:${port}/ HTTP/1.1\r\nHost: server.test:${port}\r\n`;
    const flood = async () => await raw(made, `${head}Connection: close\r\n${'a:b\r\n'.repeat(250)}\r\n`);
    const begun = performance.now();
    const replies = await Promise.all(Array.from({ length: 120 }, flood));
    const seconds = (performance.now() - begun) / 1000;
    expect(replies.filter((reply) => !reply.startsWith('HTTP/1.1 200')).length).toBeGreaterThan(20);
    expect(served * 252).toBeLessThan(16_384 + 252 + 8_000 * (seconds + 1));
    await expect.poll(async () => (await get(made, `http://server.test:${port}/`)).status).toBe(200);
  });

  test('gets no response with very many headers', async () => {
    const port = await httpServer((_, outgoing) => {
      for (let index = 0; index < 300; index += 1) outgoing.setHeader(`x-${index}`, 'y');
      outgoing.end('body');
    });
    const { status, body } = await get(network([`server.test:${port}`]), `http://server.test:${port}/`);
    expect([status, body]).toEqual([502, expect.not.stringContaining('body')]);
  });

  test('is one of a limited number', async () => {
    const made = network('all', { limits: { connections: 1 } });
    await loopback.httpClient(made);
    expect(await raw(made, '')).toMatch(/^HTTP\/1.1 503/);
  });

  test('that sends half a request is ended when it is idle', async () => {
    const socket = await loopback.httpClient(network('all', { limits: { idleMs: 80 } }));
    socket.write('GET http://server.test/ HTT');
    expect(await readAll(socket)).toBe('');
  });

  test('that goes away takes its request with it', async () => {
    const asked: Socket[] = [];
    const port = await httpServer((incoming) => asked.push(incoming.socket));
    const made = network([`server.test:${port}`]);
    const socket = await loopback.httpClient(made);
    socket.write(`GET http://server.test:${port}/ HTTP/1.1\r\nHost: server.test:${port}\r\n\r\n`);
    await expect.poll(() => asked.length).toBe(1);
    socket.resetAndDestroy();
    await expect.poll(() => asked[0]!.destroyed).toBe(true);
    await expect.poll(() => made.counters().open).toBe(0);
  });

  test('that asks several times and goes away leaves nothing open', async () => {
    const port = await httpServer((_, outgoing) => outgoing.end('x'.repeat(100_000)));
    const made = network([`server.test:${port}`]);
    const socket = await loopback.httpClient(made);
    socket.end(`GET http://server.test:${port}/ HTTP/1.1\r\nHost: server.test:${port}\r\n\r\n`.repeat(5));
    await readAll(socket);
    await expect.poll(() => made.counters().open).toBe(0);
    await expect
      .poll(() => events.filter(({ event }) => event === 'opened').length)
      .toBe(events.filter(({ event }) => event === 'closed').length);
  });

  test('is ended with the network', async () => {
    const made = network('all');
    const socket = await loopback.httpClient(made);
    const answer = readAll(socket);
    made.close();
    expect(await answer).toBe('');
    expect(await raw(made, 'GET http://server.test/ HTTP/1.1\r\n\r\n')).toBe('');
  });

  test('that sends endless headers is refused', async () => {
    const socket = await loopback.httpClient(network('all'));
    socket.write(`GET http://server.test/ HTTP/1.1\r\nX: ${'x'.repeat(200_000)}`);
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 431/);
  });
});
