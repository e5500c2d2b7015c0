import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttp, type IncomingMessage, type RequestListener, request } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import type { NetworkEvent } from '../../src/network/contract.ts';
import { createReadSecret } from '../../src/network/upstreams/secret.ts';
import { createSessionUpstreams, type SessionUpstreams } from '../../src/network/upstreams/session-upstreams.ts';
import { credentialsSchema, type Upstreams } from '../../src/network/upstreams/upstream.ts';
import { type Loopback, readAll, readSome, selfSigned, startLoopback } from '../support/loopback-servers.ts';

const SECRET = 'correct-horse-battery-staple';
const { key, cert } = selfSigned('api.test');

let loopback: Loopback;
let events: NetworkEvent[];
let unreadable: string[];
let folder: string;

beforeEach(() => {
  loopback = startLoopback();
  [events, unreadable] = [[], []];
  folder = mkdtempSync(join(tmpdir(), 'hotcell-test-'));
  writeFileSync(join(folder, 'secret'), `${SECRET}\n`);
});

afterEach(() => {
  loopback.close();
  rmSync(folder, { recursive: true });
});

function servicesOf(services: Partial<Upstreams>): SessionUpstreams {
  return createSessionUpstreams({
    services: { forwards: {}, credentials: {}, ...services },
    onEvent: (event) => events.push(event),
    onUnreadable: (name, why) => unreadable.push(`${name}: ${why}`),
    readSecret: createReadSecret(process.env, systemClock),
    certificates: cert,
    reach: { resolve: async () => ['127.0.0.1'] },
  });
}

/** A credential of an HTTPS server that handles requests so. */
async function apiOf(handle: RequestListener, more: Record<string, unknown> = {}): Promise<SessionUpstreams> {
  const port = await loopback.listen(createHttps({ key, cert }, handle));
  const api = { url: `https://api.test:${port}`, secret: { file: join(folder, 'secret') }, ...more };
  return servicesOf({ credentials: credentialsSchema.parse({ api }) });
}

async function streamTo(serve: (inner: Socket) => void): Promise<Socket> {
  const server = createServer({ allowHalfOpen: true });
  const port = await loopback.listen(server);
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
  const [inner] = (await once(server, 'connection')) as [Socket];
  serve(inner);
  return socket;
}

async function ask(
  services: SessionUpstreams,
  path: string,
  options: { method?: string; headers?: Record<string, string> } = {},
) {
  const socket = await streamTo((inner) => void services.serveCredentials(inner));
  const asking = request({ createConnection: () => socket, path, headers: { host: '127.0.0.1' }, ...options });
  asking.end();
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

describe('a credential', () => {
  test('is added on the host, over TLS to its server, and is in no reply', async () => {
    const seen: unknown[] = [];
    const services = await apiOf((incoming, outgoing) => {
      seen.push({ url: incoming.url, authorization: incoming.headers.authorization, host: incoming.headers.host });
      outgoing.setHeader('X-Echo', String(incoming.headers.authorization));
      outgoing.end(JSON.stringify({ headers: incoming.headers, basic: Buffer.from(`:${SECRET}`).toString('base64') }));
    });
    const { status, headers, body } = await ask(services, '/api/user?x=1', {
      headers: { authorization: 'Bearer own' },
    });
    expect(status).toBe(200);
    expect(seen).toMatchObject([{ url: '/user?x=1', authorization: `Bearer ${SECRET}` }]);
    expect(headers['x-echo']).toBe(`Bearer ${'*'.repeat(SECRET.length)}`);
    expect(body).toContain('*'.repeat(SECRET.length));
    expect(`${body}${JSON.stringify([headers, events])}`).not.toMatch(
      new RegExp(`${SECRET}|${Buffer.from(`:${SECRET}`).toString('base64').slice(0, 20)}`),
    );
    expect(events[0]).toMatchObject({ event: 'opened', host: 'api.test' });
  });

  test('is found in a reply of any size and pace, and nothing else of it is changed', async () => {
    const filler = 'x'.repeat(100_000);
    const services = await apiOf(async (_, outgoing) => {
      for (const piece of [filler, SECRET.slice(0, 5), SECRET.slice(5), filler, SECRET]) {
        outgoing.write(piece);
        await new Promise((resolve) => setImmediate(resolve));
      }
      outgoing.end();
    });
    const { body } = await ask(services, '/api/');
    const stars = '*'.repeat(SECRET.length);
    expect(body).toBe(`${filler}${stars}${filler}${stars}`);
  });

  test('gets no reply that is encoded, or only a part', async () => {
    const seen: IncomingMessage['headers'][] = [];
    const services = await apiOf((incoming, outgoing) => {
      seen.push(incoming.headers);
      outgoing.setHeader('Content-Encoding', 'gzip').end(gzipSync(`${incoming.headers.authorization}`));
    });
    const { status, body } = await ask(services, '/api/', {
      headers: { range: 'bytes=0-0', 'accept-encoding': 'gzip' },
    });
    expect([status, body]).toEqual([502, expect.not.stringContaining(SECRET)]);
    expect(seen[0]).toMatchObject({ 'accept-encoding': 'identity' });
    expect(seen[0]).not.toHaveProperty('range');
  });

  test.each<[string, RequestListener]>([
    [
      'a transfer encoding',
      (_, outgoing) => outgoing.writeHead(200, { 'Transfer-Encoding': 'gzip, chunked' }).end(gzipSync(SECRET)),
    ],
    [
      'an encoding that is between neighbours',
      (_, outgoing) =>
        outgoing
          .writeHead(200, { Connection: 'close, Content-Encoding', 'Content-Encoding': 'gzip' })
          .end(gzipSync(SECRET)),
    ],
    ['a part that was not asked for', (_, outgoing) => outgoing.writeHead(206).end(SECRET.slice(1))],
  ])('gets no reply with %s', async (_, reply) => {
    expect((await ask(await apiOf(reply), '/api/')).status).toBe(502);
  });

  test('gets no cookie of the server, which would stand for the secret', async () => {
    const services = await apiOf((_, outgoing) => outgoing.setHeader('Set-Cookie', 'sid=derived').end('body'));
    const { body, headers } = await ask(services, '/api/');
    expect([body, headers['set-cookie']]).toEqual(['body', undefined]);
  });

  test('does not follow a redirect, and a client that does has no secret', async () => {
    const stolen: unknown[] = [];
    const evil = await loopback.listen(
      createHttp((incoming, outgoing) => outgoing.end(String(stolen.push(incoming.headers)))),
    );
    const services = await apiOf((_, outgoing) => {
      outgoing.writeHead(302, { location: `http://evil.test:${evil}/` }).end();
    });
    const { status, headers } = await ask(services, '/api/');
    expect([status, headers.location, stolen]).toEqual([302, `http://evil.test:${evil}/`, []]);
  });

  test('goes to no server with another certificate, and tells nobody what it is', async () => {
    const other = selfSigned('api.test');
    const asked: unknown[] = [];
    const port = await loopback.listen(
      createHttps(other, ({ headers }, outgoing) => outgoing.end(String(asked.push(headers)))),
    );
    const api = { url: `https://api.test:${port}`, secret: { file: join(folder, 'secret') } };
    const { status, body } = await ask(servicesOf({ credentials: credentialsSchema.parse({ api }) }), '/api/');
    expect([status, asked]).toEqual([502, []]);
    expect(body).not.toContain(SECRET);
  });

  test.each([
    ['a file that is not there', { file: '/nonexistent/secret' }, /file of the secret cannot be read/],
    [
      'a variable that is not set',
      { env: 'HOTCELL_TEST_NO_SUCH_VARIABLE' },
      /HOTCELL_TEST_NO_SUCH_VARIABLE is not set/,
    ],
    ['a command that fails', { command: ['/bin/false'] }, /ended with 1/],
    ['a command that prints little', { command: ['/bin/echo', 'short'] }, /printable ASCII/],
  ])('that cannot be read, from %s, is an error of the host', async (_, secret, why) => {
    const services = await apiOf((_incoming, outgoing) => outgoing.end(), { secret });
    const { status, body } = await ask(services, '/api/');
    expect([status, body]).toEqual([502, 'The secret of api cannot be read on the host.\n']);
    expect(unreadable.join()).toMatch(why);
  });

  test('of another session is not found', async () => {
    const services = await apiOf((_, outgoing) => outgoing.end());
    for (const path of ['/other/', '/', '/__proto__/', '/constructor/', 'http://api.test/'])
      expect((await ask(services, path)).status).toBe(404);
  });

  test('serves nothing after its session is closed', async () => {
    const services = await apiOf((_, outgoing) => outgoing.end('late'));
    services.close();
    const socket = await streamTo((inner) => void services.serveCredentials(inner));
    socket.write('GET /api/ HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await readAll(socket)).toBe('');
  });
});

describe('a forward', () => {
  test('carries any protocol to the server that the operator named, who may speak first', async () => {
    const port = await loopback.tcp((socket) => {
      socket.write('hello');
      socket.on('data', (chunk) => socket.end(`you said ${chunk}`));
    });
    const services = servicesOf({ forwards: { db: `postgres.internal:${port}` } });
    const opening = await services.forward('db');
    if (opening.kind !== 'open') throw new Error(opening.kind);
    const socket = await streamTo((inner) => void opening.connection.carry(inner));
    expect(await readSome(socket)).toBe('hello');
    socket.write(Buffer.from([22, 3, 1, 0, 5]));
    expect(await readAll(socket)).toMatch(/^you said /);
  });

  test('of another name is refused', async () => {
    const services = servicesOf({ forwards: { db: 'postgres.internal:5432' } });
    for (const name of ['cache', '__proto__', 'toString', ''])
      expect(await services.forward(name)).toMatchObject({ kind: 'refused', refusal: { why: 'not-allowed' } });
  });

  test('ends with its session', async () => {
    const port = await loopback.tcp((socket) => void socket.write('hello'));
    const services = servicesOf({ forwards: { db: `127.0.0.1:${port}` } });
    const opening = await services.forward('db');
    if (opening.kind !== 'open') throw new Error(opening.kind);
    const socket = await streamTo((inner) => void opening.connection.carry(inner));
    expect(await readSome(socket)).toBe('hello');
    services.close();
    expect(await readAll(socket)).toBe('');
    expect(await services.forward('db')).toMatchObject({ kind: 'refused', refusal: { why: 'closed' } });
  });
});
