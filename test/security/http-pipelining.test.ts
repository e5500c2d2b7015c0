import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants, type TwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);
const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
const PACKET = REQUEST.repeat(Math.floor(60_000 / REQUEST.length));

describe.skipIf(skipped !== undefined)('requests that are sent before the last answer is out', () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  async function connected({ hotcell }: TwoTenants): Promise<Socket> {
    const socket = connect(hotcell.port, '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    await once(socket, 'connect');
    return socket;
  }

  it.each(['read', 'not read'])('end their connection, by the thousand, and keep nobody waiting: %s', async (how) => {
    await using tenants = await serveTwoTenants();
    await tenants.timed('list_sessions');
    const crowd = await Promise.all(Array.from({ length: 64 }, () => connected(tenants)));
    for (const socket of crowd) {
      socket[how === 'read' ? 'resume' : 'pause']();
      socket.write(PACKET);
    }
    expect(await tenants.timed('list_sessions')).toBeLessThan(2_000);
    for (const socket of crowd) socket.resume(); // to learn of the end
    await expect.poll(() => crowd.filter(({ closed }) => !closed).length).toBe(0);
  });

  it.each(['Host: 127.0.0.1\r\nExpect: x', 'X-No: host'])(
    'end it also where Node would answer itself: %j',
    async (header) => {
      await using tenants = await serveTwoTenants();
      const socket = await connected(tenants);
      let answered = 0;
      socket.on('data', (data: Buffer) => {
        answered += data.toString('latin1').split('HTTP/1.1 ').length - 1;
      });
      socket.write(`GET / HTTP/1.1\r\n${header}\r\n\r\n`.repeat(1_000));
      await expect.poll(() => socket.closed).toBe(true);
      expect(answered).toBeLessThan(3);
    },
  );

  it('come one after the other over one connection as ever', async () => {
    await using tenants = await serveTwoTenants();
    const socket = await connected(tenants);
    for (let turn = 0; turn < 50; turn += 1) {
      socket.write(REQUEST);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  it('end the connection of an owner too', async () => {
    await using tenants = await serveTwoTenants();
    const socket = await connected(tenants);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const head = ['POST /mcp HTTP/1.1', 'Host: 127.0.0.1', `Authorization: Bearer ${tenants.tokens.mallory}`];
    const type = ['Content-Type: application/json', 'Accept: application/json, text/event-stream'];
    const call = `${[...head, ...type, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${body}`;
    socket.resume().write(call.repeat(100));
    await expect.poll(() => socket.closed).toBe(true);
    await tenants.timed('list_sessions');
  });
});
