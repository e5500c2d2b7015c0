import { once } from 'node:events';
import { type Socket, connect as tcpConnect } from 'node:net';
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { NetworkEvent, NetworkSetting, SessionNetwork } from '../../src/network/contract.ts';
import { parsePolicy } from '../../src/network/policy.ts';
import { createResolve } from '../../src/network/resolve.ts';
import { createSessionNetwork, type SessionNetworkOptions } from '../../src/network/session-network.ts';
import { clientHello, extension, inRecords, serverNames } from '../support/client-hellos.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { type Loopback, readAll, readSome, selfSigned, startLoopback } from '../support/loopback-servers.ts';

let loopback: Loopback;
let events: NetworkEvent[];
const closing: (() => void)[] = [];

beforeEach(() => {
  loopback = startLoopback();
  events = [];
});

afterEach(() => {
  loopback.close();
  for (const close of closing.splice(0)) close();
});

const both = (setting: NetworkSetting) => ({ ceiling: parsePolicy(setting), wanted: parsePolicy(setting) });

/** Every name is this machine, unless the options say otherwise. */
function network(setting: NetworkSetting, options: Partial<SessionNetworkOptions> = {}) {
  const made = createSessionNetwork({
    rules: both(setting),
    onEvent: (event) => events.push(event),
    reach: { resolve: async () => ['127.0.0.1'] },
    ...options,
  });
  closing.push(made.close);
  return made;
}

const refusals = () => events.flatMap((event) => (event.event === 'refused' ? [event.refusal] : []));

describe('a connection', () => {
  test('carries bytes both ways, and each direction ends on its own', async () => {
    const port = await loopback.tcp((socket) => {
      void readAll(socket).then((text) => socket.end(`got ${text}`));
    });
    const { socket, ended, opening } = await loopback.client(network([`server.test:${port}`]), {
      host: 'Server.TEST.',
      port,
    });
    expect(opening).toMatchObject({
      kind: 'open',
      connection: { target: { host: 'server.test' }, address: '127.0.0.1' },
    });
    socket.end('hello');
    expect(await readAll(socket)).toBe('got hello');
    expect(await ended).toEqual({ kind: 'ended' });
    expect(events).toMatchObject([
      { event: 'opened', host: 'server.test', port, address: '127.0.0.1', rule: `server.test:${port}`, via: 'tunnel' },
      { event: 'closed', how: 'ended', sentBytes: 5, receivedBytes: 9 },
    ]);
  });

  test('carries large bodies whole', async () => {
    const port = await loopback.tcp((socket) => socket.pipe(socket));
    const { socket } = await loopback.client(network([`server.test:${port}`]), { host: 'server.test', port });
    const body = 'x'.repeat(8_000_000);
    socket.end(body);
    expect((await readAll(socket)).length).toBe(body.length);
  });

  test('to a server that speaks first does not wait for the client', async () => {
    const port = await loopback.tcp((socket) => socket.write('220 ready\r\n'));
    const { socket } = await loopback.client(network([`server.test:${port}`]), { host: 'server.test', port });
    expect(await readSome(socket)).toBe('220 ready\r\n');
  });

  test('to a server that never answers ends when it is idle', async () => {
    const port = await loopback.tcp((socket) => socket.resume());
    const { socket, ended } = await loopback.client(network([`server.test:${port}`], { limits: { idleMs: 50 } }), {
      host: 'server.test',
      port,
    });
    socket.write('hello?');
    expect(await ended).toEqual({ kind: 'idle' });
  });

  test('that is opened and never carried ends when it is idle', async () => {
    const accepted: Socket[] = [];
    const port = await loopback.tcp((socket) => accepted.push(socket.resume()));
    const made = network([`server.test:${port}`], { limits: { idleMs: 50 } });
    expect(await made.open({ host: 'server.test', port })).toMatchObject({ kind: 'open' });
    await expect.poll(() => made.counters().open).toBe(0);
    await expect.poll(() => accepted[0]?.readableEnded).toBe(true);
    expect(events.at(-1)).toMatchObject({ event: 'closed', how: 'idle' });
  });

  test('that one side resets breaks the other', async () => {
    const accepted: Socket[] = [];
    const port = await loopback.tcp((socket) => accepted.push(socket.resume()));
    const made = network([`server.test:${port}`]);
    const first = await loopback.client(made, { host: 'server.test', port });
    await expect.poll(() => accepted.length).toBe(1);
    accepted[0]!.resetAndDestroy();
    expect(await first.ended).toEqual({ kind: 'broken', by: 'server' });
    await expect(once(first.socket, 'end')).rejects.toThrow('ECONNRESET');

    const second = await loopback.client(made, { host: 'server.test', port });
    await expect.poll(() => accepted.length).toBe(2);
    const reset = expect(once(accepted[1]!, 'end')).rejects.toThrow('ECONNRESET');
    second.socket.resetAndDestroy();
    expect(await second.ended).toEqual({ kind: 'broken', by: 'client' });
    await reset;
    expect(made.counters().open).toBe(0);
  });

  test('whose client does not read stops the server', async () => {
    let sent: Socket | undefined;
    const port = await loopback.tcp((socket) => {
      sent = socket;
      const send = () => {
        while (socket.write(Buffer.alloc(65_536)));
      };
      socket.on('drain', send);
      send();
    });
    const made = network([`server.test:${port}`]);
    const { socket } = await loopback.client(made, { host: 'server.test', port });
    socket.pause();
    let before = -1;
    await expect
      .poll(
        () => {
          const stands = made.counters().receivedBytes === before && sent?.writableNeedDrain === true;
          before = made.counters().receivedBytes;
          return stands;
        },
        { interval: 200 },
      )
      .toBe(true);
    expect(made.counters().receivedBytes).toBeLessThan(32 * 1024 ** 2);
  });

  test('to a server that sends endlessly ends at the limit of the session', async () => {
    const port = await loopback.tcp((socket) => {
      const send = () => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
      };
      socket.on('drain', send);
      send();
    });
    const made = network([`server.test:${port}`], { limits: { receivedBytes: 1_000_000 } });
    const { socket, ended } = await loopback.client(made, { host: 'server.test', port });
    socket.resume();
    expect(await ended).toEqual({ kind: 'refused', refusal: { host: 'server.test', port, why: 'too-many-bytes' } });
    expect(made.counters().receivedBytes).toBeLessThanOrEqual(1_000_000);
  });

  test('sends no more than the session may', async () => {
    let received = 0;
    const port = await loopback.tcp((socket) => {
      socket.on('data', (chunk) => {
        received += chunk.length;
      });
    });
    const { socket, ended } = await loopback.client(
      network([`server.test:${port}`], { limits: { sentBytes: 100_000 } }),
      { host: 'server.test', port },
    );
    socket.write(Buffer.alloc(1_000_000));
    expect(await ended).toMatchObject({ refusal: { why: 'too-many-bytes' } });
    expect(received).toBeLessThanOrEqual(100_000);
  });
});

describe('a connection is refused', () => {
  test.each([
    ['no rule allows', { host: 'other.test', port: 443 }, 'not-allowed'],
    ['is on another port', { host: 'server.test', port: 22 }, 'not-allowed'],
    ['is denied', { host: 'denied.server.test', port: 443 }, 'denied'],
    ['resolves to a private address without being named', { host: 'sub.server.test', port: 443 }, 'private-address'],
    ['has NUL in it', { host: 'server.test\0.evil', port: 443 }, 'bad-host'],
    ['has a header in it', { host: 'server.test\r\nX: y', port: 443 }, 'bad-host'],
    ['has another host behind an @', { host: 'server.test@evil.test', port: 443 }, 'bad-host'],
    ['has no port', { host: 'server.test', port: 0 }, 'bad-host'],
  ])('to a target that %s', async (_, target, why) => {
    const made = network(['server.test', '*.server.test', '!denied.server.test']);
    const opening = await made.open(target);
    expect(opening).toMatchObject({ kind: 'refused', refusal: { port: target.port, why } });
    expect(refusals()).toHaveLength(1);
    expect(refusals()[0]!.host).toMatch(/^[\x21-\x7e]+$/);
    expect(made.counters()).toMatchObject({ open: 0, opened: 0, refused: 1 });
  });

  test.each([
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '::1',
    '::ffff:127.0.0.1',
    '[::ffff:7f00:1]',
    '0.0.0.0',
    '169.254.169.254',
    '10.0.0.1',
    'localhost',
  ])('to %s, even if everything is allowed', async (host) => {
    const port = await loopback.tcp((socket) => socket.end('reached'));
    expect(await network('all').open({ host, port })).toMatchObject({
      kind: 'refused',
      refusal: { why: 'private-address' },
    });
  });

  test('to a private address that only the session names', async () => {
    const rules = { ceiling: parsePolicy('all'), wanted: parsePolicy(['127.0.0.1:8080']) };
    expect(await network('none', { rules }).open({ host: '127.0.0.1', port: 8080 })).toMatchObject({
      refusal: { why: 'private-address' },
    });
  });

  test('above the limits of connections and of their rate', async () => {
    const port = await loopback.tcp((socket) => socket.resume());
    const target = { host: 'server.test', port };
    const made = network([`server.test:${port}`], { limits: { connections: 2, newAtOnce: 3, newPerSecond: 0 } });
    const openings = [
      await made.open(target),
      await made.open(target),
      await made.open(target),
      await made.open(target),
    ];
    expect(openings.map((opening) => (opening.kind === 'refused' ? opening.refusal.why : opening.kind))).toEqual([
      ...['open', 'open', 'too-many-connections', 'too-many-new-connections'],
    ]);
  });

  test('after the network is closed, and open ones are ended', async () => {
    const port = await loopback.tcp((socket) => socket.resume());
    const made = network([`server.test:${port}`]);
    const { ended, socket } = await loopback.client(made, { host: 'server.test', port });
    made.close();
    expect(await ended).toMatchObject({ kind: 'refused', refusal: { why: 'closed' } });
    await expect(once(socket.resume(), 'end')).rejects.toThrow('ECONNRESET');
    expect(await made.open({ host: 'server.test', port })).toMatchObject({ refusal: { why: 'closed' } });
    expect(made.counters().open).toBe(0);
  });
});

describe('a connection fails', () => {
  test('to a port where nothing listens', async () => {
    const port = await loopback.tcp(() => undefined);
    loopback.close();
    const target = { host: 'server.test', port };
    await expect
      .poll(() => network([`server.test:${port}`]).open(target))
      .toEqual({ kind: 'failed', failure: 'connection-refused' });
  });

  test('if its name does not resolve, or not in time, or the caller gives up', async () => {
    const never = () => new Promise<string[]>(() => undefined);
    const slow = createSlow(never);
    expect(await network('all', { reach: { resolve: async () => [] } }).open({ host: 'a.test', port: 80 })).toEqual({
      kind: 'failed',
      failure: 'unresolvable',
    });
    expect(
      await network('all', { reach: { resolve: slow }, limits: { connectMs: 30 } }).open({ host: 'a.test', port: 80 }),
    ).toEqual({ kind: 'failed', failure: 'timed-out' });
    const made = network('all', { reach: { resolve: slow } });
    const controller = new AbortController();
    const opening = made.open({ host: 'a.test', port: 80 }, { signal: controller.signal });
    expect(made.counters().open).toBe(1);
    controller.abort();
    expect(await opening).toEqual({ kind: 'failed', failure: 'cancelled' });
    expect(made.counters()).toMatchObject({ open: 0, failed: 1 });
  });

  function createSlow(never: () => Promise<string[]>) {
    return (_: string, { signal }: { signal: AbortSignal }) =>
      Promise.race([
        never(),
        new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ]);
  }
});

describe('TLS', () => {
  const certificate = selfSigned('server.test', 'other.test');

  async function tlsServer(): Promise<{ port: number; firstBytes: () => number }> {
    const server = createTlsServer(certificate, (socket) => socket.end(`welcome to ${String(socket.servername)}`));
    let bytes = 0;
    server.on('connection', (socket: Socket) => {
      socket.on('close', () => {
        bytes += socket.bytesRead;
      });
    });
    server.on('tlsClientError', () => undefined);
    return { port: await loopback.listen(server), firstBytes: () => bytes };
  }

  async function over(socket: Socket, servername: string): Promise<string> {
    const secure = tlsConnect({ socket, servername, ca: certificate.cert, checkServerIdentity: () => undefined });
    secure.on('error', () => undefined);
    return await readAll(secure);
  }

  test.each([true, false])('with the name of the host passes (on a port for TLS only: %s)', async (tlsOnly) => {
    const { port } = await tlsServer();
    const made = network([`server.test:${port}`], { tlsOnlyPorts: tlsOnly ? [port] : [] });
    const { socket } = await loopback.client(made, { host: 'server.test', port });
    expect(await over(socket, 'server.test')).toBe('welcome to server.test');
  });

  test.each([
    [true, 'other.test', 'other-server-name'],
    [false, 'other.test', 'other-server-name'],
    [true, '', 'no-server-name'],
    [false, '', 'no-server-name'],
  ])(
    'is refused (on a port for TLS only: %s) with the name %j, and no byte reaches the server',
    async (tlsOnly, name, why) => {
      const { port, firstBytes } = await tlsServer();
      const made = network([`server.test:${port}`, `other.test:${port}`], { tlsOnlyPorts: tlsOnly ? [port] : [] });
      const { socket, ended } = await loopback.client(made, { host: 'server.test', port });
      expect(await over(socket, name)).toBe('');
      expect(await ended).toMatchObject({ kind: 'refused', refusal: { host: 'server.test', port, why } });
      expect(firstBytes()).toBe(0);
      expect(made.counters().sentBytes).toBe(0);
    },
  );

  test('is needed on port 443 by default, whatever is sent there', async () => {
    const port = await loopback.tcp((socket) => socket.end('plain'));
    const made = network([`server.test:${port}`], { tlsOnlyPorts: [port] });
    const { socket, ended } = await loopback.client(made, { host: 'server.test', port });
    socket.write('SSH-2.0-client\r\n');
    expect(await readAll(socket)).toBe('');
    expect(await ended).toMatchObject({ refusal: { why: 'not-tls' } });
  });

  test('is checked when the ClientHello arrives byte by byte in small records, and is passed on unchanged', async () => {
    const received = new Promise<string>((resolve) => {
      void loopback.tcp((socket) => void readAll(socket).then(resolve)).then(send);
    });
    const bytes = inRecords(clientHello([extension(0, serverNames('server.test'))]), 10);
    async function send(port: number) {
      const made = network([`server.test:${port}`], { tlsOnlyPorts: [port] });
      const { socket } = await loopback.client(made, { host: 'server.test', port });
      socket.setNoDelay(true);
      for (const byte of bytes) await new Promise((resolve) => socket.write(Buffer.from([byte]), resolve));
      socket.end('and more');
    }
    expect(await received).toBe(Buffer.concat([bytes, Buffer.from('and more')]).toString());
  });

  test('that ends within the ClientHello is refused', async () => {
    const port = await loopback.tcp((socket) => socket.resume());
    const { socket, ended } = await loopback.client(network([`server.test:${port}`]), { host: 'server.test', port });
    socket.end(inRecords(clientHello([])).subarray(0, 20));
    expect(await ended).toMatchObject({ refusal: { why: 'bad-client-hello' } });
  });
});

describe('a name', () => {
  let dns: DnsServer;
  afterEach(() => dns.close());

  test('is resolved once: an answer that changes later changes nothing', async () => {
    const port = await loopback.tcp((socket) => socket.end('the first'));
    const answers = [['127.0.0.1'], ['127.0.0.2']];
    dns = await startDnsServer(() => answers.shift() ?? ['127.0.0.3']);
    const made = network([`rebound.test:${port}`], { reach: { resolve: createResolve({ servers: [dns.address] }) } });
    const { socket, opening } = await loopback.client(made, { host: 'rebound.test', port });
    expect(opening).toMatchObject({ connection: { address: '127.0.0.1' } });
    expect(await readAll(socket)).toBe('the first');
    expect(dns.questions).toEqual(['rebound.test']);
  });

  test('that resolves to a private address at the second connection is refused then', async () => {
    const answers = [['192.0.2.1'], ['127.0.0.1']];
    dns = await startDnsServer(() => answers.shift());
    const made = network('all', { reach: { resolve: createResolve({ servers: [dns.address] }) } });
    for (const _ of answers.slice())
      expect(await made.open({ host: 'rebound.test', port: 80 })).toMatchObject({
        refusal: { why: 'private-address' },
      });
    expect(dns.questions).toHaveLength(2);
  });

  test('of a server that never answers fails in time', async () => {
    dns = await startDnsServer(() => undefined);
    const made = network('all', {
      reach: { resolve: createResolve({ servers: [dns.address] }) },
      limits: { connectMs: 100 },
    });
    expect(await made.open({ host: 'silent.test', port: 80 })).toEqual({ kind: 'failed', failure: 'timed-out' });
  });

  test('with several addresses is reached at the one that answers', async () => {
    dns = await startDnsServer(() => ['127.0.0.2', '127.0.0.1']);
    const port = await loopback.tcp((socket) => socket.end('here'));
    const made = network([`server.test:${port}`], { reach: { resolve: createResolve({ servers: [dns.address] }) } });
    const { socket, opening } = await loopback.client(made, { host: 'server.test', port });
    expect(opening).toMatchObject({ connection: { address: '127.0.0.1' } });
    expect(await readAll(socket)).toBe('here');
  });
});

describe('a change of policy', () => {
  test('ends what is no longer allowed, and nothing else', async () => {
    const port = await loopback.tcp((socket) => socket.pipe(socket));
    const made = network([`a.test:${port}`, `b.test:${port}`]);
    const [a, b] = [
      await loopback.client(made, { host: 'a.test', port }),
      await loopback.client(made, { host: 'b.test', port }),
    ];
    made.change({
      ceiling: parsePolicy([`a.test:${port}`, `b.test:${port}`]),
      wanted: parsePolicy([`b.test:${port}`]),
    });
    expect(await a.ended).toEqual({ kind: 'refused', refusal: { host: 'a.test', port, why: 'policy-changed' } });
    b.socket.end('still here');
    expect(await readAll(b.socket)).toBe('still here');
  });

  test('ends connections to a private address that the operator no longer names, or denies', async () => {
    const port = await loopback.tcp((socket) => socket.pipe(socket));
    for (const rules of [both('all'), both([`a.test:${port}`, '!127.0.0.1'])]) {
      const made = network([`a.test:${port}`]);
      const { ended } = await loopback.client(made, { host: 'a.test', port });
      made.change(rules);
      expect(await ended).toMatchObject({ refusal: { why: 'policy-changed' } });
    }
  });

  test('refuses what is being opened', async () => {
    const port = await loopback.tcp((socket) => socket.end('reached'));
    let answer: (addresses: string[]) => void = () => undefined;
    const resolve = () =>
      new Promise<string[]>((done) => {
        answer = done;
      });
    const made = network([`a.test:${port}`], { reach: { resolve } });
    const opening = made.open({ host: 'a.test', port });
    made.change(both('none'));
    answer(['127.0.0.1']);
    expect(await opening).toMatchObject({ kind: 'refused', refusal: { why: 'policy-changed' } });
  });

  test.each(['change', 'close'] as const)('ends, as a %s, what opens in that moment', async (how) => {
    const port = await loopback.tcp((socket) => socket.resume());
    const made: SessionNetwork = network([`server.test:${port}`], {
      onEvent: ({ event }) => event === 'opened' && made[how](both('none')),
    });
    expect(await made.open({ host: 'server.test', port })).toMatchObject({ kind: 'open' });
    expect(made.counters()).toMatchObject({ open: 0, refused: 1 });
  });
});

test('the attacks of this file succeed without the network in between', async () => {
  const port = await loopback.tcp((socket) => socket.end('reached'));
  expect(await readAll(tcpConnect(port, '127.0.0.1'))).toBe('reached');
});
