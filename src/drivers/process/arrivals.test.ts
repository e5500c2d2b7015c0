import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { encodeFrame } from '../../lib/frames.ts';
import { type Arrivals, openArrivals } from './arrivals.ts';

const IDENTITY = { uid: process.getuid!(), gid: process.getgid!() };
let folder: string;
let arrivals: Arrivals | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hotcell-arrivals-'));
});

afterEach(async () => {
  await arrivals?.end(new Error('the test is over'));
  await rm(folder, { recursive: true, force: true });
});

test('one that shows its token is let in and stays, however long ago it came', async () => {
  arrivals = await openArrivals(folder, IDENTITY, { atOnce: 2, forMs: 20 });
  const expected = arrivals.expect('the-token');
  const socket = await arrive();
  socket.write(encodeFrame({ head: { type: 'attach', token: 'the-token', pid: 7 } }));
  const { jailPid, channel } = await expected;
  expect(jailPid).toBe(7);
  await once(await arrive(), 'close'); // a stranger's time has passed meanwhile
  expect(channel.destroyed).toBe(false);
  channel.destroy();
});

test('of those without a token only so many are held, and the oldest goes', async () => {
  arrivals = await openArrivals(folder, IDENTITY, { atOnce: 2, forMs: 60_000 });
  const strangers: Socket[] = [];
  for (let come = 0; come < 5; come += 1) strangers.push(await arrive());
  await Promise.all(strangers.slice(0, 3).map((stranger) => stranger.destroyed || once(stranger, 'close')));
  expect(strangers.map(({ destroyed }) => destroyed)).toEqual([true, true, true, false, false]);
  const expected = arrivals.expect('the-token');
  (await arrive()).write(encodeFrame({ head: { type: 'attach', token: 'the-token', pid: 7 } }));
  (await expected).channel.destroy();
});

test('one without a token is held for a short time only', async () => {
  arrivals = await openArrivals(folder, IDENTITY, { atOnce: 2, forMs: 20 });
  const stranger = await arrive();
  stranger.write('a piece of a frame');
  await once(stranger, 'close');
});

async function arrive(): Promise<Socket> {
  const socket = connect(join(arrivals!.controlFolder, 'control'));
  socket.on('error', () => {}).resume();
  await once(socket, 'connect');
  return socket;
}
