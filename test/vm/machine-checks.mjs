import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import {
  asUser,
  CGROUP_ROOT,
  readCounters,
  run,
  runInside,
  UNPRIVILEGED_UID,
  withCgroup,
  withDelegatedSubtree,
} from './cgroup.mjs';

const MIB = 1024 * 1024;

/** That the machine is what the other checks take it for: without this, a limit that never acts would look like one that held. */
export async function machineChecks(check) {
  await check('cgroup v2 is the only hierarchy and hands on memory, cpu and pids', () => {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const types = mounts.map((line) => line.split(' ')[2]).filter((type) => type?.startsWith('cgroup'));
    assert.deepEqual(types, ['cgroup2']);
    const handedOn = readFileSync(`${CGROUP_ROOT}/cgroup.subtree_control`, 'utf8').trim().split(' ');
    for (const controller of ['memory', 'cpu', 'pids'])
      assert.ok(handedOn.includes(controller), `${controller} is off`);
  });

  await check('memory.max kills what grows beyond it, and lets the same program live without it', async () => {
    const grow = ['python3', '-c', `b"x" * ${128 * MIB}; print("grown")`];
    const free = await withCgroup('memory-free', {}, (cgroup) => runInside(cgroup, grow));
    assert.equal(free.stdout, 'grown\n', free.stderr);
    await withCgroup('memory-held', { 'memory.max': 64 * MIB }, async (cgroup) => {
      const held = await runInside(cgroup, grow);
      assert.equal(held.signal, 'SIGKILL', JSON.stringify(held));
      assert.equal(readCounters(cgroup, 'memory.events').oom_kill, 1);
    });
  });

  await check('pids.max refuses the process beyond it, and lets the same program fork without it', async () => {
    const fork = ['python3', '-c', FORK_TWENTY];
    const free = await withCgroup('pids-free', {}, (cgroup) => runInside(cgroup, fork));
    assert.equal(free.stdout, 'forked 20\n', free.stderr);
    const held = await withCgroup('pids-held', { 'pids.max': 8 }, (cgroup) => runInside(cgroup, fork));
    assert.equal(held.stdout, 'forked 7, then EAGAIN\n', held.stderr);
  });

  await check('cpu.max holds a busy program to its share', async () => {
    await withCgroup('cpu-held', { 'cpu.max': '20000 100000' }, async (cgroup) => {
      const busy = 'import time; end = time.monotonic() + 2\nwhile time.monotonic() < end: pass';
      const before = performance.now();
      await runInside(cgroup, ['python3', '-c', busy]);
      const share = readCounters(cgroup, 'cpu.stat').usage_usec / 1000 / (performance.now() - before);
      assert.ok(share < 0.3, `used ${(share * 100).toFixed(0)} % of a core where 20 % is allowed`);
      assert.ok(readCounters(cgroup, 'cpu.stat').nr_throttled > 0);
    });
  });

  await check(
    'an unprivileged user can nest user, pid and mount namespaces and mount /proc in a bubblewrap jail',
    async () => {
      const jail = [
        'bwrap',
        '--unshare-all',
        '--die-with-parent',
        '--ro-bind',
        '/',
        '/',
        '--dev',
        '/dev',
        '--proc',
        '/proc',
      ];
      const nested = await run([...asUser(UNPRIVILEGED_UID), ...jail, 'python3', '-c', NEST]);
      assert.equal(nested.stdout, 'pid 1, processes [1]\n', nested.stderr);
    },
  );

  await check(
    'a delegated subtree lets an unprivileged user limit its own children, and nothing above it',
    async () => {
      await withDelegatedSubtree(UNPRIVILEGED_UID, async ({ path, self }) => {
        const tried = await runInside(self, ['python3', '-c', DELEGATE, path], { uid: UNPRIVILEGED_UID });
        assert.deepEqual(
          tried.stdout.trim().split('\n'),
          [
            'controllers cpu memory pids',
            'child killed by signal 9, oom_kill 1',
            'own limit refused: EACCES',
            'escape to the root refused: EACCES',
          ],
          tried.stderr,
        );
      });
    },
  );
}

const FORK_TWENTY = `
import errno, os, signal
children = []
ending = ""
try:
    for _ in range(20):
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError as error:
    ending = ", then " + errno.errorcode[error.errno]
for child in children:
    os.kill(child, signal.SIGKILL)
print(f"forked {len(children)}{ending}")
`;

// Python 3.11 has no os.unshare.
const NEST = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
NEWNS, NEWUSER, NEWPID = 0x00020000, 0x10000000, 0x20000000
uid, gid = os.getuid(), os.getgid()
call(libc.unshare(NEWUSER | NEWPID | NEWNS))
for name, text in ("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1"):
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)
if os.fork() == 0:
    call(libc.mount(b"proc", b"/proc", b"proc", 0, None))
    print(f"pid {os.getpid()}, processes {[int(name) for name in os.listdir('/proc') if name.isdigit()]}", flush=True)
    os._exit(0)
os.wait()
`;

const DELEGATE = `
import errno, os, sys
top = sys.argv[1]
def write(path, text):
    with open(path, "w") as file:
        file.write(text)
def refused(what, path, text):
    try:
        write(path, text)
        print(f"{what} allowed")
    except OSError as error:
        print(f"{what} refused: {errno.errorcode[error.errno]}")
write(f"{top}/cgroup.subtree_control", "+memory +cpu +pids")
work = f"{top}/work"
os.mkdir(work)
print("controllers", *sorted(open(f"{work}/cgroup.controllers").read().split()))
write(f"{work}/memory.max", str(32 << 20))
write(f"{work}/pids.max", "8")
write(f"{work}/cpu.max", "50000 100000")
sys.stdout.flush()
child = os.fork()
if child == 0:
    write(f"{work}/cgroup.procs", str(os.getpid()))
    b"x" * (64 << 20)
    os._exit(0)
status = os.waitpid(child, 0)[1]
events = dict(line.split() for line in open(f"{work}/memory.events"))
print(f"child killed by signal {os.WTERMSIG(status)}, oom_kill {events['oom_kill']}")
os.rmdir(work)
refused("own limit", f"{top}/memory.max", "max")
refused("escape to the root", "/sys/fs/cgroup/cgroup.procs", str(os.getpid()))
`;
