import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { MARKER, orphanedJails } from './orphans.ts';
import { COMMON_ID, mayBeJail } from './session-uids.ts';

const INSTALLATION = 'hc-orphans-test';
const started: ChildProcess[] = [];
const isLinux = process.platform === 'linux';

afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

/** A program that has the arguments of a bubblewrap of ours. */
async function forged(serverId: string, uid?: number): Promise<number> {
  const args = ['-c', 'echo ready; read -r line', 'sh', MARKER, `${INSTALLATION}-${serverId}`];
  const child = spawn('/bin/sh', args, {
    stdio: ['pipe', 'pipe', 'ignore'],
    cwd: '/',
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  started.push(child);
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  return child.pid ?? 0;
}

const found = async () => (await orphanedJails(INSTALLATION, async (id) => id === 'alive')).map(({ pid }) => pid);

it.skipIf(!isLinux)('is a bubblewrap of this user whose server is gone', async () => {
  const [dead] = [await forged('dead'), await forged('alive')];
  expect(await found()).toEqual([dead]);
});

it.skipIf(!isLinux || process.getuid?.() !== 0)(
  'is never a program of another user, whatever its arguments say',
  async () => {
    await forged('dead', 61_842);
    expect(await found()).toEqual([]);
    const jailed = await forged('dead', COMMON_ID);
    expect(await found()).toEqual([jailed]);
  },
);

it('of an ordinary user has the uid of that user alone', () => {
  expect([1000, 1001, 0, COMMON_ID].map((uid) => mayBeJail(uid, 1000))).toEqual([true, false, false, false]);
});
