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

/** A program with the arguments of one of our bubblewrap processes. */
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

it.skipIf(!isLinux)('an orphan is a bubblewrap of this user whose server is gone', async () => {
  const [dead] = [await forged('dead'), await forged('alive')];
  expect(await found()).toEqual([dead]);
});

it.skipIf(!isLinux || process.getuid?.() !== 0)(
  'an orphan is never a program of another user, whatever its arguments are',
  async () => {
    await forged('dead', 61_842);
    expect(await found()).toEqual([]);
    const jailed = await forged('dead', COMMON_ID);
    expect(await found()).toEqual([jailed]);
  },
);

/** A program that gives itself a command line of that many megabytes, without using the memory. */
const LONG_COMMAND_LINE = `
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.sbrk.restype = ctypes.c_void_p
size = int(sys.argv[1]) << 20
address = libc.mmap(None, ctypes.c_size_t(size), 3, 0x4022, -1, 0)
stat = open('/proc/self/stat').read().rsplit(')', 1)[1].split()
at = lambda field: int(stat[field - 3])
fields = (at(26), at(27), at(45), at(46), at(47), libc.sbrk(0), at(28), address, address + size, at(50), at(51), 0, 0, -1)
table = ctypes.create_string_buffer(struct.pack('11QQIi', *fields))
failed = libc.prctl(35, 14, ctypes.byref(table), 104, 0)
print('refused' if failed else 'long', flush=True)
sys.stdin.readline()
`;

it.skipIf(!isLinux).each([
  ['of another user', 61_842],
  ['of this user', process.getuid?.()],
])('an orphan is found beside a program %s whose command line is 600 MB long', async (_, uid) => {
  if (process.getuid?.() !== 0 && uid !== process.getuid?.()) return;
  const child = spawn('/usr/bin/python3', ['-c', LONG_COMMAND_LINE, '600'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    cwd: '/',
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  started.push(child);
  const [said] = await once(child.stdout as NodeJS.ReadableStream, 'data');
  expect(String(said).trim()).toBe('long');
  const before = process.resourceUsage().maxRSS;
  const dead = await forged('dead');
  expect(await found()).toEqual([dead]);
  expect(process.resourceUsage().maxRSS - before).toBeLessThan(100_000);
});

it('an orphan of an unprivileged user has the uid of that user', () => {
  expect([1000, 1001, 0, COMMON_ID].map((uid) => mayBeJail(uid, 1000))).toEqual([true, false, false, false]);
});
