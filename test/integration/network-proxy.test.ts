import { createServer, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { NetworkEvent, NetworkSetting } from '../../src/network/contract.ts';
import { readHostProxy } from '../../src/network/host-proxy.ts';
import { parsePolicy } from '../../src/network/policy.ts';
import { createSessionNetwork } from '../../src/network/session-network.ts';
import { type Loopback, readAll, startLoopback } from '../support/loopback-servers.ts';

const PUBLIC = '93.184.216.34';
const AUTHORIZATION = `Basic ${Buffer.from('me:secret').toString('base64')}`;

let loopback: Loopback;
let events: NetworkEvent[];
let asked: { line: string; authorization: string | undefined }[];

beforeEach(() => {
  loopback = startLoopback();
  events = [];
  asked = [];
});

afterEach(() => loopback.close());

/** A proxy of the host, which wants a password and leads everything to one port of this machine. */
async function proxy(port: number): Promise<string> {
  const note = ({ method, url, headers }: IncomingMessage) => {
    asked.push({ line: `${method} ${url}`, authorization: headers['proxy-authorization'] });
    return headers['proxy-authorization'] === AUTHORIZATION;
  };
  const server = createServer((incoming, outgoing) => {
    outgoing.writeHead(note(incoming) ? 200 : 407).end(`for ${incoming.headers.host}`);
  });
  server.on('connect', (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    if (!note(incoming)) return socket.end('HTTP/1.1 407 secret asked for\r\nContent-Length: 0\r\n\r\n');
    const upstream = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => socket.destroy());
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    upstream.write(head);
    upstream.pipe(socket).pipe(upstream);
  });
  return `127.0.0.1:${await loopback.listen(server)}`;
}

function network(
  environment: Record<string, string>,
  resolve: () => Promise<string[]>,
  setting: NetworkSetting = 'all',
) {
  const policy = parsePolicy(setting);
  return createSessionNetwork({
    rules: { ceiling: policy, wanted: policy },
    onEvent: (event) => events.push(event),
    reach: { resolve, hostProxy: readHostProxy(environment) },
  });
}

const greeter = () => loopback.tcp((socket) => socket.end('hello'));

test('a public target is reached through the proxy of the host, by its name', async () => {
  const made = network({ HTTPS_PROXY: `http://me:secret@${await proxy(await greeter())}` }, async () => [PUBLIC]);
  const { socket, opening } = await loopback.client(made, { host: 'server.example', port: 5432 });
  expect(opening).toMatchObject({ kind: 'open', connection: { address: undefined } });
  expect(await readAll(socket)).toBe('hello');
  expect(asked).toEqual([{ line: 'CONNECT server.example:5432', authorization: AUTHORIZATION }]);
});

test('a name that only the proxy can resolve is reached, unless it is a local one', async () => {
  const nowhere = () => Promise.reject(new Error('ENOTFOUND'));
  const made = network({ HTTPS_PROXY: `http://me:secret@${await proxy(await greeter())}` }, nowhere);
  expect(await made.open({ host: 'server.example', port: 5432 })).toMatchObject({ kind: 'open' });
  for (const host of ['intranet', 'db.internal', 'printer.local', 'x.home.arpa', 'localhost'])
    expect(await made.open({ host, port: 5432 })).toEqual({ kind: 'failed', failure: 'unresolvable' });
  expect(asked).toHaveLength(1);
  made.close();
});

test('what is private is never asked of the proxy', async () => {
  const port = await greeter();
  const environment = { HTTPS_PROXY: `http://me:secret@${await proxy(port)}` };
  const refused = await network(environment, async () => ['127.0.0.1']).open({ host: 'server.example', port });
  expect(refused).toMatchObject({ kind: 'refused', refusal: { why: 'private-address' } });
  expect(await network(environment, async () => []).open({ host: '10.0.0.1', port })).toMatchObject({
    kind: 'refused',
  });
  const named = network(environment, async () => ['127.0.0.1'], [`server.example:${port}`]);
  expect(await readAll((await loopback.client(named, { host: 'server.example', port })).socket)).toBe('hello');
  expect(asked).toEqual([]);
});

test('a refusal of the proxy is a failure that says nothing of its password', async () => {
  const address = await proxy(await greeter());
  const made = network(
    { HTTPS_PROXY: `http://me:wrong-secret@${address}`, HTTP_PROXY: 'http://me:wrong-secret@127.0.0.1:1' },
    async () => [PUBLIC],
  );
  const opening = await made.open({ host: 'server.example', port: 443 });
  expect(opening).toEqual({ kind: 'failed', failure: 'proxy-failed' });
  const socket = await loopback.httpClient(made);
  socket.write('GET http://server.example/ HTTP/1.1\r\nHost: server.example\r\nConnection: close\r\n\r\n');
  const answer = await readAll(socket);
  expect(answer).toMatch(/^HTTP\/1.1 502/);
  const everything = JSON.stringify([opening, events, made.counters()]) + answer;
  for (const secret of ['secret', Buffer.from('me:wrong-secret').toString('base64')])
    expect(everything).not.toContain(secret);
  expect(made.counters().open).toBe(0);
});

test('a plain request goes to the proxy in absolute form', async () => {
  const made = network({ HTTP_PROXY: `http://me:secret@${await proxy(0)}` }, async () => [PUBLIC]);
  const socket = await loopback.httpClient(made);
  socket.write(
    'GET http://server.example/a?b HTTP/1.1\r\nHost: server.example\r\nProxy-Authorization: Basic mine\r\nConnection: close\r\n\r\n',
  );
  expect(await readAll(socket)).toContain('for server.example');
  expect(asked).toEqual([{ line: 'GET http://server.example:80/a?b', authorization: AUTHORIZATION }]);
});

test('a proxy that never answers is given up in time', async () => {
  const port = await loopback.tcp((socket) => socket.resume());
  const policy = parsePolicy('all');
  const made = createSessionNetwork({
    rules: { ceiling: policy, wanted: policy },
    limits: { connectMs: 80 },
    reach: { resolve: async () => [PUBLIC], hostProxy: readHostProxy({ HTTPS_PROXY: `http://127.0.0.1:${port}` }) },
  });
  expect(await made.open({ host: 'server.example', port: 443 })).toEqual({ kind: 'failed', failure: 'timed-out' });
});
