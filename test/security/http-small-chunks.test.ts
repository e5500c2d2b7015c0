import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);
const CHUNKS = Buffer.from('1\r\nx\r\n'.repeat(40_000));

describe.skipIf(skipped !== undefined)('bodies of one-byte chunks', () => {
  let isOver = false;
  const sockets = new Set<Socket>();
  afterEach(() => {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  });

  /** Sends chunks for as long as the server takes them, and begins anew when it has closed the connection. */
  function flood(port: number, head: string): void {
    if (isOver) return;
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    sockets.add(socket.resume());
    socket.once('close', () => {
      sockets.delete(socket);
      setTimeout(() => flood(port, head), 100);
    });
    const send = () => {
      while (!socket.destroyed && socket.write(CHUNKS));
    };
    socket.write(`${head}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    socket.on('drain', send);
    send();
  }

  it.each([
    ['a stranger sends', 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1'],
    ['come under a wrong name', 'POST /mcp HTTP/1.1\r\nHost: evil.example'],
    ['come to no address of ours', 'POST /nothing HTTP/1.1\r\nHost: 127.0.0.1'],
    ['a tenant sends', 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer MALLORY'],
    ['a tenant uploads', 'PUT /files/none/x HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer MALLORY'],
  ])('keep nobody waiting: %s', async (_, head) => {
    isOver = false;
    await using tenants = await serveTwoTenants();
    await tenants.timed('list_sessions');
    for (let count = 0; count < 8; count += 1)
      flood(tenants.hotcell.port, head.replace('MALLORY', tenants.tokens.mallory));
    const times: number[] = [];
    for (let turn = 0; turn < 20; turn += 1) times.push(await tenants.timed('list_sessions'));
    isOver = true;
    // On a busy machine, and both ends are in this process.
    expect(Math.max(...times)).toBeLessThan(2_000);
  });

  it('cannot hide behind more headers than are kept: such a request ends its connection', async () => {
    await using tenants = await serveTwoTenants();
    const socket = connect(tenants.hotcell.port, '127.0.0.1').on('error', () => {});
    sockets.add(socket);
    const headers = `Host: 127.0.0.1\r\n${'a:\r\n'.repeat(1100)}Transfer-Encoding: chunked`;
    socket.write(`POST /nothing HTTP/1.1\r\n${headers}\r\n\r\n1\r\nx\r\n`);
    socket.resume();
    await once(socket, 'close');
    expect(socket.bytesRead).toBe(0);
  });

  it('are counted after a thousand requests for a tunnel, and a request that offers another protocol is answered', async () => {
    await using tenants = await serveTwoTenants();
    const { port } = tenants.hotcell;
    const answerTo = (head: string) =>
      new Promise<string>((resolve) => {
        let answer = '';
        const socket = connect(port, '127.0.0.1').on('error', () => {});
        socket.on('data', (data) => {
          answer += data;
        });
        socket.once('close', () => resolve(answer));
        socket.write(`${head}\r\nHost: 127.0.0.1\r\n\r\n`);
      });
    for (let round = 0; round < 50; round += 1) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => answerTo('CONNECT a:1 HTTP/1.1')));
      expect(answers.join('')).toBe('');
    }
    const upgrade = 'Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA';
    expect(await answerTo(`GET /healthz HTTP/1.1\r\n${upgrade}`)).toMatch(/^HTTP\/1\.1 200 /);
    await tenants.timed('list_sessions');
  });
});
