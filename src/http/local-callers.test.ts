import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { createLocalCallers } from './local-callers.ts';

const socket = () =>
  ({ remoteAddress: '127.0.0.1', remotePort: 5, localAddress: '127.0.0.1', localPort: 6 }) as unknown as Socket;

it.each([
  ['its own user', { uid: 1001 }, 1001, true],
  ['root', { uid: 1001 }, 0, true],
  ['another user', { uid: 1001 }, 1002, false],
  ['the user who started it with sudo', { uid: 0, sudoUid: 1001 }, 1001, true],
  ['another user beside sudo', { uid: 0, sudoUid: 1001 }, 1002, false],
  ['a user of sudo who is not root', { uid: 1002, sudoUid: 1001 }, 1001, false],
  ['nobody any more', { uid: 1001 }, undefined, false],
  ['a system without a list', { uid: 1001 }, 'unknown' as const, true],
  ['a system without users', { uid: undefined }, 1002, true],
])('a server decides about a connection of %s', async (_, user, found, isServed) => {
  expect(await createLocalCallers(user, async () => found)(socket())).toBe(isServed);
});

it('looks again where a line was passed over, and once for each connection', async () => {
  const found = [undefined, undefined, 1001];
  let looks = 0;
  const isLocal = createLocalCallers({ uid: 1001 }, async () => found[looks++]);
  const one = socket();
  expect(await Promise.all([isLocal(one), isLocal(one)])).toEqual([true, true]);
  expect(looks).toBe(3);
});

it('refuses a connection that has ended', async () => {
  expect(await createLocalCallers({ uid: 1001 }, async () => 1001)({} as Socket)).toBe(false);
});
