import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants, type TwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);

describe.skipIf(skipped !== undefined)('connections that are held open', () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  function connected({ hotcell }: TwoTenants, localAddress = '127.0.0.1'): Socket {
    const socket = connect({ port: hotcell.port, host: '127.0.0.1', localAddress }).on('error', () => {});
    sockets.push(socket);
    return socket;
  }

  /** One that has asked for something and is kept alive. */
  async function idle(
    tenants: TwoTenants,
    { address, token }: { address?: string; token?: string } = {},
  ): Promise<Socket> {
    const socket = connected(tenants, address);
    const asked = token === undefined ? 'GET /healthz' : 'GET /run/none';
    const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
    socket.write(`${asked} HTTP/1.1\r\nHost: localhost\r\n${authorization}\r\n`);
    await Promise.race([once(socket, 'data'), once(socket, 'close')]);
    return socket.resume();
  }

  async function many(count: number, open: (n: number) => Promise<Socket>): Promise<Socket[]> {
    const opened: Socket[] = [];
    for (let n = 0; n < count; n += 128) {
      const batch = Array.from({ length: Math.min(128, count - n) }, (_, m) => open(n + m));
      opened.push(...(await Promise.all(batch)));
    }
    return opened;
  }

  const alive = (all: readonly Socket[]) => all.filter((socket) => !socket.destroyed && !socket.readableEnded).length;

  it('shut nobody out: 4200 idle ones of a stranger, and the holder of a token is served at once', async () => {
    await using tenants = await serveTwoTenants();
    const before = await tenants.timed('list_sessions');
    const strangers = await many(4200, () => idle(tenants));
    expect(await tenants.timed('list_sessions')).toBeLessThan(before + 1000);
    await expect.poll(() => alive(strangers)).toBeLessThanOrEqual(512);
  });

  const connectionLimits = { total: 24, strangersPerAddress: 8, perOwner: 6 };

  it('give way to others when the server is full: those of strangers first, and none that is at work', async () => {
    await using tenants = await serveTwoTenants({ connectionLimits });
    const mine = await idle(tenants, { token: tenants.tokens.ada });
    const working = tenants.timed('run_code', { code: 'import time; time.sleep(3); 1' });
    const strangers = await many(50, (n) => idle(tenants, { address: `127.0.0.${2 + (n % 10)}` }));
    for (let turn = 0; turn < 3; turn += 1) expect(await tenants.timed('list_sessions')).toBeLessThan(1000);
    expect(alive([mine])).toBe(1);
    await expect.poll(() => alive(strangers)).toBeLessThanOrEqual(connectionLimits.total - 1);
    await working;
  });

  it('of one address displace each other, also while their headers are still coming', async () => {
    await using tenants = await serveTwoTenants({ connectionLimits });
    const elsewhere = await idle(tenants, { address: '127.0.0.9' });
    const slow = await many(20, async () => {
      const socket = connected(tenants).resume();
      socket.write('GET /healthz HTTP/1.1\r\nX-Slow: ');
      await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
      return socket;
    });
    await expect.poll(() => alive(slow)).toBeLessThanOrEqual(connectionLimits.strangersPerAddress);
    expect(await tenants.timed('list_sessions')).toBeLessThan(1000);
    expect(alive([elsewhere])).toBe(1);
  });

  it('of one tenant who keeps them at work are bounded, and another tenant is served', async () => {
    const limits = { total: 64, strangersPerAddress: 40, perOwner: 6 };
    await using tenants = await serveTwoTenants({ connectionLimits: limits });
    const { mallory } = tenants.tokens;
    const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${mallory}\r\n`;
    const answers: string[] = [];
    for (let n = 0; n < 30; n += 1) {
      connected(tenants)
        .on('data', (piece) => answers.push(String(piece)))
        .write(`${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`);
    }
    await expect.poll(() => answers.length).toBe(30 - limits.perOwner);
    expect(answers[0]).toMatch(/^HTTP\/1\.1 429 [\s\S]+too_many_connections/);
    expect(await tenants.timed('list_sessions')).toBeLessThan(1000);
  });
});
