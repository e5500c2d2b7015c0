import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTcpUsers } from './tcp-users.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hc-tcp-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const HEADER = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const row = (ends: string, state: string, uid: number, inode: number) =>
  `   0: ${ends} ${state} 00000000:00000000 00:00000000 00000000 ${String(uid).padStart(5)}        0 ${inode} 1 0 20 4 30 10 -1\n`;
const FROM = { address: '127.0.0.1', port: 0xabcd };
const TO = { address: '127.0.0.1', port: 0x1ec6 };
const ENDS = '0100007F:ABCD 0100007F:1EC6';

function usersIn(text: string) {
  const path = join(folder, 'tcp');
  writeFileSync(path, HEADER + text);
  return createTcpUsers([path, join(folder, 'missing')]);
}

describe('a list of connections', () => {
  it('tells the user of the end that was asked for, not of the other', async () => {
    const users = usersIn(row('0100007F:1EC6 0100007F:ABCD', '01', 1001, 7) + row(ENDS, '01', 1002, 8));
    expect(await Promise.all([users(FROM, TO), users(TO, FROM), users(FROM, TO)])).toEqual([1002, 1001, 1002]);
  });

  it('finds a socket of IPv6 that has an address of IPv4, however the address is written', async () => {
    const mapped = '0000000000000000FFFF00000100007F';
    const users = usersIn(row(`${mapped}:ABCD ${mapped}:1EC6`, '01', 1002, 8));
    expect(await users(FROM, { ...TO, address: '::ffff:127.0.0.1' })).toBe(1002);
  });

  it('names no user of a connection that its program has closed, whose uid is 0', async () => {
    const users = usersIn(row(ENDS, '04', 0, 0) + row(ENDS, '06', 0, 0));
    expect(await users(FROM, TO)).toBeUndefined();
  });

  it('finds a line after many others', async () => {
    const many = Array.from({ length: 5_000 }, (_, n) =>
      row(`0100007F:${n.toString(16).padStart(4, '0')} 0100007F:0050`, '06', 0, 0),
    );
    expect(await usersIn(many.join('') + row(ENDS, '01', 1002, 8))(FROM, TO)).toBe(1002);
  });

  it('names no user while it cannot be read, and does not count as missing', async () => {
    expect(await createTcpUsers([folder, join(folder, 'missing')])(FROM, TO)).toBeUndefined();
  });

  it('is unknown on a system that has none', async () => {
    expect(await createTcpUsers([join(folder, 'missing')])(FROM, TO)).toBe('unknown');
  });
});

it.skipIf(process.platform !== 'linux').each(['127.0.0.1', '::1'])(
  'tells the user of a real connection to %s',
  async (host) => {
    const server = createServer().listen(0, host);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = connect({ host, port });
    const [accepted] = (await once(server, 'connection')) as [Socket];
    const [of, to] = [
      { address: accepted.remoteAddress!, port: accepted.remotePort! },
      { address: accepted.localAddress!, port: accepted.localPort! },
    ];
    expect(await createTcpUsers()(of, to)).toBe(process.getuid?.());
    client.destroy();
    accepted.destroy();
    server.close();
  },
);
