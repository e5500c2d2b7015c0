import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);
const LIMITS = { total: 200, strangersPerAddress: 100, perOwner: 20, linksPerOwner: 4 };

describe.skipIf(skipped !== undefined)('readers of a signed link', () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  it('cannot lock its owner out, by number or by not reading', async () => {
    await using tenants = await serveTwoTenants({ connectionLimits: LIMITS });
    const code = `open('big.bin', 'wb').write(b'x' * 30_000_000)`;
    const reply = (await tenants.call('ada', 'run_code', { code })).body.toString();
    const { pathname, search } = new URL(/http:\/\/[^"\\ )]*signature=[^"\\ )]*/.exec(reply)![0]);
    const statuses: string[] = [];
    for (let count = 0; count < 30; count += 1) {
      const socket = connect(tenants.hotcell.port, '127.0.0.1').on('error', () => {});
      sockets.push(socket);
      socket.once('data', (data: Buffer) => {
        statuses.push(data.toString('latin1', 9, 12));
        socket.pause();
      });
      socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    }
    await expect.poll(() => statuses.length).toBe(30);
    expect(statuses.filter((status) => status === '200')).toHaveLength(4);
    await tenants.timed('list_sessions');
    for (const socket of sockets) socket.destroy();
    const again = () => tenants.hotcell.send('HEAD', pathname + search);
    await expect.poll(async () => (await again()).status).toBe(200);
  });
});
