import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { connectGuest } from '../../src/guest/connect.ts';
import { readPieces, readWhole } from '../../src/guest/files.ts';
import { newId } from '../../src/lib/ids.ts';
import { packageRoot } from '../../src/lib/package-root.ts';
import { strength } from '../support/strength.ts';
import { usedBytes } from '../support/used-memory.ts';

const CONFIG = { limits: { memoryBytes: 1, openFiles: 1, fileBytes: 1, cpus: 1 }, preloads: [], environment: {} };
const MEGABYTE = 1_048_576;

/** What waits for a guest that reads nothing may be 16 MiB, counted with what it costs to keep. To keep 200,000 pieces of output would take 70 MB. */
test.each([
  ['stdout', strength({ plain: 200_000, all: 600_000 }), 'lives'],
  ['ping', 400_000, 'guest_misbehaved'],
  ['call', 400_000, 'guest_misbehaved'],
])(
  'a guest that sends %s as fast as it can and reads nothing grows the server within its limit',
  async (kind, count, end) => {
    const { channel, guest } = await forgedGuest(kind, count);
    const before = usedBytes();
    let most = 0;
    let frames = 0;
    const connection = await connectGuest(channel, {
      config: CONFIG,
      onBackground: () => {
        frames += 1;
      },
    });
    let ended: string | undefined;
    void connection.ended.then(({ code }) => {
      ended = code;
    });
    while (ended === undefined && frames < count) {
      await sleep(50);
      most = Math.max(most, usedBytes() - before);
    }
    expect(ended ?? 'lives').toBe(end);
    expect(most / MEGABYTE).toBeLessThan(32);
    connection.close();
    guest.kill();
    await once(guest, 'exit');
  },
);

test('a guest that sends a file byte by byte makes the server hold the file, and not an object for each byte', async () => {
  const count = strength({ plain: 150_000, all: 300_000 });
  const { channel, guest } = await forgedGuest('chunk', count);
  const connection = await connectGuest(channel, { config: CONFIG });
  const before = usedBytes();
  let most = 0;
  let isOver = false;
  const reading = expect(readWhole(connection, 'f', count - 1_000)).rejects.toMatchObject({ code: 'file_too_large' });
  reading
    .catch(() => {})
    .finally(() => {
      isOver = true;
    });
  while (!isOver) {
    await sleep(50);
    most = Math.max(most, usedBytes() - before);
  }
  await reading;
  expect(most / MEGABYTE).toBeLessThan(24);
  connection.close();
  guest.kill();
  await once(guest, 'exit');
});

test('a guest that sends on to a reader who has stopped loses its connection before it has grown the server', async () => {
  const { channel, guest } = await forgedGuest('chunk', 300_000);
  const connection = await connectGuest(channel, { config: CONFIG });
  const before = usedBytes();
  const reading = readPieces(connection, 'f');
  await reading.next();
  expect(await connection.ended).toMatchObject({
    code: 'guest_misbehaved',
    message: expect.stringMatching(/overran its window/) as string,
  });
  expect((usedBytes() - before) / MEGABYTE).toBeLessThan(24);
  await reading.return(undefined);
  guest.kill();
  await once(guest, 'exit');
});

async function forgedGuest(kind: string, count: number) {
  const path = join(tmpdir(), `${newId('hc')}.sock`);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const program = join(packageRoot(), 'test', 'support', 'forged_guest.py');
  const guest = spawn('python3', [program, path, kind, String(count)], { stdio: ['pipe', 'ignore', 'inherit'] });
  const [channel] = (await once(server, 'connection')) as [Socket];
  server.close();
  return { channel, guest };
}
