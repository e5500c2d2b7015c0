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

test('a connection with a valid token is accepted and stays open past the timeout', async () => {
  arrivals = await openArrivals(folder, IDENTITY, { atOnce: 2, forMs: 500 });
  const expected = arrivals.expect('the-token');
  const socket = await arrive();
  socket.write(encodeFrame({ head: { type: 'attach', token: 'the-token', pid: 7 } }));
  const { jailPid, channel } = await expected;
  expect(jailPid).toBe(7);
  await once(await arrive(), 'close'); // the timeout of unauthenticated connections has passed meanwhile
  expect(channel.destroyed).toBe(false);
  channel.destroy();
});

test('connections without a token are limited in number, and the oldest is closed', async () => {
  arrivals = await openArrivals(folder, IDENTITY, { atOnce: 2, forMs: 60_000 });
  const strangers: Socket[] = [];
  for (let come = 0; come < 5; come += 1) strangers.push(await arrive());
  await Promise.all(strangers.slice(0, 3).map((stranger) => stranger.destroyed || once(stranger, 'close')));
  expect(strangers.map(({ destroyed }) => destroyed)).toEqual([true, true, true, false, false]);
  const expected = arrivals.expect('the-token');
  (await arrive()).write(encodeFrame({ head: { type: 'attach', token: 'the-token', pid: 7 } }));
  (await expected).channel.destroy();
});

test('a connection without a token is closed after a timeout', async () => {
  arrivals = await openArrivals(folder, IDENTITY, { atOnce: 2, forMs: 500 });
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
