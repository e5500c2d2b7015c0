import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants, type TwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);
const MiB = 1_048_576;

describe.skipIf(skipped !== undefined)('answers that nobody reads', () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** A call of mallory's over a connection of its own. Nothing of the answer is read until somebody resumes it. */
  function ask({ hotcell, tokens }: TwoTenants, body: string): Socket {
    const socket = connect(hotcell.port, '127.0.0.1').on('error', () => {});
    sockets.push(socket.pause());
    const head = ['POST /mcp HTTP/1.1', 'Host: 127.0.0.1', `Authorization: Bearer ${tokens.mallory}`];
    const type = ['Content-Type: application/json', 'Accept: application/json, text/event-stream'];
    socket.write(`${[...head, ...type, `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n${body}`);
    return socket;
  }

  /** A request for a file that makes an answer of eight megabytes. */
  async function largeRead(tenants: TwoTenants): Promise<string> {
    await tenants.call('mallory', 'run_code', {
      code: `open('big.bin', 'wb').write(bytes(range(256)) * ${24 * 1024})`,
    });
    const uri = `hotcell://sessions/${tenants.sessionsOf('mallory')[0]!.id}/files/big.bin`;
    return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } });
  }

  it('are thrown away with their connection when nothing of them was taken for a while', async () => {
    await using tenants = await serveTwoTenants({ stallMs: 1_000 });
    const body = await largeRead(tenants);
    const crowd = Array.from({ length: 4 }, () => ask(tenants, body));
    await expect.poll(() => unsent(tenants)).toBeGreaterThan(16 * MiB);
    // To send something in the meantime proves nothing.
    const more = setInterval(() => {
      for (const socket of crowd) if (socket.writable) socket.write('G');
    }, 200);
    await expect.poll(() => unsent(tenants)).toBe(0);
    clearInterval(more);
    await tenants.call('mallory', 'list_sessions');
  });

  it('come whole to a reader that is slow', async () => {
    await using tenants = await serveTwoTenants({ stallMs: 1_500 });
    const socket = ask(tenants, await largeRead(tenants));
    let size = 0;
    socket.on('data', (piece: Buffer) => {
      const wholeBefore = Math.floor(size / MiB);
      size += piece.length;
      if (Math.floor(size / MiB) === wholeBefore) return;
      socket.pause();
      setTimeout(() => socket.resume(), 400);
    });
    socket.resume();
    const over = setTimeout(() => socket.destroy(), 60_000);
    while (size < 8 * MiB) await once(socket, 'data');
    clearTimeout(over);
  });

  it('have a limit for each owner, and those of others come', async () => {
    await using tenants = await serveTwoTenants();
    const body = await largeRead(tenants);
    await tenants.timed('list_sessions');
    for (let count = 0; count < 24; count += 1) ask(tenants, body);
    await expect.poll(() => unsent(tenants)).toBeGreaterThan(60 * MiB);
    await expect.poll(async () => (await tenants.call('mallory', 'list_sessions')).status, { interval: 100 }).toBe(429);
    expect((await tenants.call('mallory', 'list_sessions')).json()).toMatchObject({
      error: { code: 'too_much_in_flight', retry: 'later' },
    });
    const { id } = tenants.sessionsOf('mallory')[0]!;
    const asked = { token: tenants.tokens.mallory, headers: { 'content-type': 'application/json' } };
    for (const question of ['complete', 'inspect']) {
      const about = { ...asked, body: '{"code":"pri"}' };
      expect((await tenants.hotcell.send('POST', `/run/${id}/${question}`, about)).status).toBe(429);
    }
    expect((await tenants.hotcell.send('GET', `/run/${id}/commands`, asked)).status).toBe(429);
    expect(unsent(tenants)).toBeLessThan(128 * MiB);
    await tenants.timed('list_sessions');
    for (const socket of sockets) socket.destroy();
    await expect.poll(async () => (await tenants.call('mallory', 'list_sessions')).status).toBe(200);
  });

  it('and calls that wait keep nothing large beside their arguments', async () => {
    await using tenants = await serveTwoTenants();
    const _meta = { x: 'y'.repeat(3.9 * MiB) };
    const params = { name: 'get_execution', arguments: { execution_id: 'x-1', wait_ms: 3_600_000 }, _meta };
    const socket = ask(tenants, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })).resume();
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 /);
    await tenants.timed('list_sessions');
  });
});

/** What waits in this process for the readers of its server. Node has the handles of both ends. */
function unsent({ hotcell }: TwoTenants): number {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): unknown[] };
  const own = handles.call(process).filter((handle): handle is Socket => handle instanceof Socket);
  return own.reduce((sum, { localPort, writableLength }) => sum + (localPort === hotcell.port ? writableLength : 0), 0);
}
