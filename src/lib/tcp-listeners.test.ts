import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { usersListeningAt } from './tcp-listeners.ts';

it('finds the users who listen on loopback or on all addresses, and no others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hc-tcp-'));
  const row = (local: string, state: string, uid: number) =>
    ` 0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 77 1\n`;
  const path = join(folder, 'tcp');
  writeFileSync(
    path,
    row('0100007F:1EC6', '0A', 1001) +
      row('00000000:1EC6', '0A', 1002) +
      row(`${'0'.repeat(32)}:1EC6`, '0A', 1003) +
      row('0200A8C0:1EC6', '0A', 1004) +
      row('0100007F:1EC7', '0A', 1005) +
      row('0100007F:1EC6', '01', 1006),
  );
  expect(await usersListeningAt(0x1ec6, [path, join(folder, 'missing')])).toEqual([1001, 1002, 1003]);
  expect(await usersListeningAt(0x1ec6, [join(folder, 'missing')])).toEqual([]);
  rmSync(folder, { recursive: true });
});

it.skipIf(process.platform !== 'linux').each(['127.0.0.1', '0.0.0.0', '::'])(
  'finds a real listener at %s',
  async (host) => {
    const server = createServer().listen(0, host);
    await once(server, 'listening');
    expect(await usersListeningAt((server.address() as AddressInfo).port)).toEqual([process.getuid?.()]);
    server.close();
  },
);
