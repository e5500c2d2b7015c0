import { expect } from 'vitest';
import { type Context, type Requirement, stdoutOf } from '../context.ts';
import { type Attack, proveAttack } from './isolation.ts';

/** What the inner filter holds back beyond the classics, each as an attack; see `Attack` in isolation.ts. */
const ATTACKS: readonly Attack[] = [
  {
    id: 'host:set-id-files',
    title: 'no file can be made setuid or setgid, by any call, while ordinary modes work',
    code: `import subprocess, tempfile
folder = tempfile.mkdtemp()
got = []
def tried(name, act):
    try: act()
    except OSError: return
    if any(os.lstat(os.path.join(folder, f)).st_mode & 0o6000 for f in os.listdir(folder)): got.append(name)
    for f in os.listdir(folder): os.rmdir(os.path.join(folder, f)) if os.path.isdir(os.path.join(folder, f)) else os.unlink(os.path.join(folder, f))
path = os.path.join(folder, "f")
def with_file(act):
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o755)
    try: act(fd)
    finally: os.close(fd)
for bits in (0o4755, 0o2755, 0o6755):
    tried("chmod", lambda: with_file(lambda fd: os.chmod(path, bits)))
    tried("fchmod", lambda: with_file(lambda fd: os.fchmod(fd, bits)))
    tried("fchmodat", lambda: with_file(lambda fd: os.chmod("f", bits, dir_fd=os.open(folder, os.O_RDONLY))))
    tried("fchmodat2", lambda: with_file(lambda fd: sys_call(452, -100, path.encode(), bits, 0)))
    tried("open", lambda: os.close(os.open(path, os.O_CREAT | os.O_WRONLY, bits)))
    tried("openat2", lambda: sys_call(437, -100, path.encode(), (ctypes.c_uint64 * 3)(0o101, bits, 0), 24))
    tried("mknod", lambda: os.mknod(path, 0o100000 | bits))
    if not ARM:
        tried("creat", lambda: sys_call(85, path.encode(), bits))
        tried("old open", lambda: sys_call(2, path.encode(), 0o101, bits))
os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o640))
os.utime(path, (1, 1))
subprocess.run(f"cp -p f g && chmod 1755 g && tar cf t.tar f g && mkdir x && tar xpf t.tar -C x && test $(stat -c %a x/f) = 640 && rm -r x", shell=True, cwd=folder, check=True)
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'host:aio',
    title: 'asynchronous requests, which the kernel counts for the whole host, are refused',
    code: `context = ctypes.c_ulong(0)
number = 0 if ARM else 206
verdict(sys_call(number, 8, ctypes.byref(context)) == 0)`,
    bare: 'in',
  },
  {
    id: 'host:new-calls',
    title: 'calls that are newer than the usual lists are refused: trees of mounts, signals by pidfd, secret memory',
    code: `got = []
attributes, ids = (ctypes.c_uint64 * 4)(), (ctypes.c_uint64 * 4)(32, 0xffffffffffffffff, 0, 0)
buffer = ctypes.create_string_buffer(4096)
me = sys_call(434, os.getpid(), 0)
got += ["pidfd_send_signal"] if me >= 0 and sys_call(424, me, 0, None, 0) == 0 else []
got += ["open_tree"] if sys_call(428, -100, b"/", 0) >= 0 else []
got += ["open_tree_attr"] if sys_call(467, -100, b"/", 0, attributes, 32) >= 0 else []
got += ["listmount"] if sys_call(458, ids, buffer, 16, 0) >= 0 else []
got += ["memfd_secret"] if sys_call(447, 0) >= 0 else []
got += ["openat2"] if sys_call(437, -100, b"/", (ctypes.c_uint64 * 3)(0, 0, 0), 24) >= 0 else []
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'host:protocols',
    title: 'of the protocols over IP only TCP and UDP can be used, and pairs of sockets are Unix ones',
    code: `got = []
for family, kind, protocol in ((2, 1, 262), (10, 1, 262), (2, 2, 136), (2, 1, 132), (2, 5, 0), (2, 6, 33)):
    try: socket.socket(family, kind, protocol).close(); got.append(protocol)
    except OSError: pass
pair = (ctypes.c_int * 2)()
for family in (30, 40, 17, 44):
    if call("socketpair", family, 1, 0, pair) == 0 or TARGET != "gvisor" and ctypes.get_errno() != errno.EAFNOSUPPORT: got.append(f"pair {family}")
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'host:leases',
    title: 'no file can be leased or watched by fcntl, so that nobody waits who opens it; locks work',
    code: `import fcntl, tempfile
folder, got = tempfile.mkdtemp(), []
path = os.path.join(folder, "f")
with open(path, "w") as file: fcntl.lockf(file, fcntl.LOCK_EX); fcntl.flock(file, fcntl.LOCK_EX)
def tried(name, *command):
    fd = os.open(folder if name == "notify" else path, os.O_RDONLY)
    try: fcntl.fcntl(fd, *command); got.append(name)
    except OSError: pass
    os.close(fd)
tried("write lease", 1024, 1)
tried("read lease", 1024, 0)
tried("notify", 1026, 2)
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'host:signal-owners',
    title: 'no descriptor can send its signals to the supervisor; a program can have them itself',
    code: `import fcntl, struct
a, b = socket.socketpair()
got = []
def tried(name, act):
    try: act()
    except OSError: return
    got.append(name)
    fcntl.fcntl(a, 8, 0)
fcntl.fcntl(a, 8, os.getpid())
assert fcntl.fcntl(a, 9) == os.getpid()
tried("process", lambda: fcntl.fcntl(a, 8, 1))
tried("group", lambda: fcntl.fcntl(a, 8, -1))
tried("structure", lambda: fcntl.fcntl(a, 15, struct.pack("ii", 1, 1)))
tried("ioctl", lambda: fcntl.ioctl(a, 0x8901, struct.pack("i", 1)))
tried("socket ioctl", lambda: fcntl.ioctl(a, 0x8902, struct.pack("i", 1)))
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'host:names',
    title: 'neither the environment nor the sockets inside tell of the server, its folders or its jails',
    code: `environment = open("/proc/self/environ").read()
sockets = [line.split()[-1] for line in open("/proc/net/unix").read().splitlines()[1:] if len(line.split()) > 7]
verdict("HOTCELL_JAIL" in environment or any("hotcell" in name or "jail" in name for name in sockets if name.startswith("/")))`,
    bare: { notTried: 'there the sockets are those of the host' },
  },
];

const supervisorAttack = `import ctypes, os, resource
libc = ctypes.CDLL(None, use_errno=True)
ARM = os.uname().machine == "aarch64"
got = []
def tried(name, act):
    try:
        if act() not in (-1, False): got.append(name)
    except OSError: pass
zero = ctypes.c_int(0)
nothing = (ctypes.c_uint64 * 2)(0, 0)
for limit in (6, 7, 9): tried(f"prlimit {limit}", lambda: libc.syscall(261 if ARM else 302, 1, limit, nothing, None))
tried("sched_setscheduler", lambda: libc.sched_setscheduler(1, 5, ctypes.byref(zero)))
tried("sched_setparam", lambda: libc.sched_setparam(1, ctypes.byref(zero)))
tried("sched_setattr", lambda: libc.syscall(274 if ARM else 314, 1, (ctypes.c_uint32 * 12)(48, 5), 0))
tried("sched_setaffinity", lambda: libc.sched_setaffinity(1, 8, (ctypes.c_ulong * 1)(1)))
tried("setpriority", lambda: libc.setpriority(0, 1, 19))
tried("setpriority of the group", lambda: libc.setpriority(1, 1, 19))
tried("setpriority of the user", lambda: libc.setpriority(2, 0, 19))
tried("ioprio_set", lambda: libc.syscall(30 if ARM else 251, 1, 1, 3 << 13))
tried("ioprio_set of the user", lambda: libc.syscall(30 if ARM else 251, 3, os.getuid(), 3 << 13))
def by_folder():
    fd = os.open("/proc/1", os.O_RDONLY | os.O_DIRECTORY)
    return libc.syscall(424, fd, 19, None, 0)
tried("pidfd_send_signal", by_folder)
os.setpriority(os.PRIO_PROCESS, 0, 5)
os.setpriority(os.PRIO_PGRP, 0, 6)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
nice = open("/proc/1/stat").read().rpartition(")")[2].split()[16]
print(got, nice)`;

export const kernelCallRequirements: readonly Requirement[] = [
  ...ATTACKS.map((attack) => ({
    id: attack.id,
    tag: 'driver' as const,
    title: attack.title,
    prove: (context: Context) => proveAttack(attack, context),
  })),
  {
    id: 'host:supervisor',
    tag: 'driver',
    title: 'limits, priority and scheduling of the supervisor cannot be changed, those of one’s own process can',
    exempt: { bare: 'process 1 is the host’s own' },
    prove: async ({ fresh }) => {
      const session = await fresh();
      expect(await stdoutOf(session, supervisorAttack)).toBe('[] 0');
      await session.reset();
      expect(await stdoutOf(session, 'print(1)')).toBe('1');
    },
  },
  {
    id: 'limit:processors-kept',
    tag: 'driver',
    title: 'where a session is kept to its processors by affinity alone, no program of it takes others',
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { cpus: 1 } });
      const take = `import os
before = os.sched_getaffinity(0)
try: os.sched_setaffinity(0, range(os.sysconf("SC_NPROCESSORS_CONF")))
except PermissionError: pass
print(os.sched_getaffinity(0) == before)`;
      const isOnlyAffinity = session.isolation.limits.cpu.by === 'processor affinity';
      const shell = await session.run(`python3 -c '${take}'`, { language: 'bash' });
      for (const kept of [await stdoutOf(session, take), shell.stdout.trim()]) {
        expect(kept).toMatch(isOnlyAffinity ? 'True' : /True|False/);
      }
    },
  },
  {
    id: 'limit:socket-memory',
    tag: 'driver',
    title: 'what is sent over the loopback and not read cannot hold more memory than the limit',
    exempt: {
      'process, without cgroups': 'there nothing counts what sockets hold; docs/threat-model.md says so',
      gvisor: 'its own kernel holds them, in the room that its container has above the limit, and ends with that',
    },
    prove: async ({ fresh, target }) => {
      const limitBytes = 256 * 1_048_576;
      const session = await fresh({ limits: { memoryBytes: limitBytes } });
      const send = `import socket
listener, held, queued = socket.create_server(("127.0.0.1", 0)), [], 0
for _ in range(100):
    near = socket.create_connection(listener.getsockname(), timeout=5)
    far = listener.accept()[0]
    near.setblocking(False)
    try:
        while queued < ${limitBytes}: queued += near.send(bytes(65536))
    except BlockingIOError: pass
    held += [near, far]
for _ in range(100):
    far, near = socket.socket(type=socket.SOCK_DGRAM), socket.socket(type=socket.SOCK_DGRAM)
    far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 30)
    far.bind(("127.0.0.1", 0))
    try:
        for _ in range(20): near.sendto(bytes(60000), far.getsockname())
    except OSError: pass
    far.setblocking(False)
    held += [far]
    near.close()
for one in held[200:]:
    try:
        while True: queued += len(one.recv(65536))
    except BlockingIOError: pass
print(queued)`;
      const { outcome, stdout } = await session.run(send, { timeoutMs: 30_000 });
      if (target.bare === true) expect(Number(stdout)).toBeGreaterThan(limitBytes);
      // Where sockets count as memory, the kernel of the session dies of it.
      else if (outcome.kind !== 'out-of-memory') {
        expect(outcome).toEqual({ kind: 'ok' });
        expect(Number(stdout)).toBeLessThan(limitBytes / 2);
      }
    },
  },
  {
    id: 'limit:kernel-memory',
    tag: 'driver',
    title:
      'no queue of netlink, of errors or of timestamps can be filled, and no program be attached, which no cgroup counts',
    exempt: { gvisor: 'these are of its own kernel, whose memory its container counts' },
    prove: async ({ fresh, target }) => {
      const made = `import ctypes, resource, socket, struct
got = []
def netlink():
    # Each dump of links is a reply of some kilobytes that nobody reads.
    request = struct.pack("=IHHIIBxHiII", 32, 18, 0x301, 1, 0, 0, 0, 0, 0, 0)
    with socket.socket(16, socket.SOCK_RAW, 0) as one: one.send(request); got.append("netlink")
def option(name, family, level, number, value):
    with socket.socket(family, socket.SOCK_DGRAM) as one: one.setsockopt(level, number, value); got.append(name)
accept_all = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xffff))
program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(accept_all))
attempts = [netlink]
attempts += [lambda: option("IP_RECVERR", socket.AF_INET, 0, 11, 1), lambda: option("IPV6_RECVERR", socket.AF_INET6, 41, 25, 1)]
attempts += [lambda: option("SO_TIMESTAMPING", socket.AF_INET, 1, 37, 2), lambda: option("SO_TIMESTAMPING_NEW", socket.AF_INET, 1, 65, struct.pack("ii", 2, 0))]
attempts += [lambda: option("SO_ZEROCOPY", socket.AF_INET, 1, 60, 1), lambda: option("SO_ATTACH_FILTER", socket.AF_INET, 1, 26, program)]
for attempt in attempts:
    try: attempt()
    except OSError: pass
print(*got)`;
      const all = 'netlink IP_RECVERR IPV6_RECVERR SO_TIMESTAMPING SO_TIMESTAMPING_NEW SO_ZEROCOPY SO_ATTACH_FILTER';
      expect(await stdoutOf(await fresh(), made)).toBe(target.bare === true ? all : '');
    },
  },
  {
    id: 'network:localhost',
    tag: 'driver',
    title: 'without netlink, localhost resolves as programs ask for it, is bound and connected to',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const served = `import asyncio, socket
assert socket.getaddrinfo("localhost", 80, flags=socket.AI_ADDRCONFIG)
assert socket.gethostbyname("localhost") == "127.0.0.1" and socket.if_nametoindex("lo") > 0
async def main():
    async def answer(reader, writer): writer.write(b"served"); writer.close()
    server = await asyncio.start_server(answer, "localhost", 0, family=socket.AF_INET)
    reader, writer = await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
    print((await reader.read()).decode())
await main()`;
      expect(await stdoutOf(session, served)).toBe('served');
      const fetched = `const server = require('node:http').createServer((_, response) => response.end('served'));
await new Promise((resolve) => server.listen(0, 'localhost', resolve));
console.log(await (await fetch('http://localhost:' + server.address().port)).text());
server.close();`;
      const { outcome, stdout } = await session.run(fetched, { language: 'javascript', timeoutMs: 30_000 });
      if (outcome.kind !== 'unavailable') expect([outcome, stdout.trim()]).toEqual([{ kind: 'ok' }, 'served']);
    },
  },
  {
    id: 'host:pseudo-terminals',
    tag: 'driver',
    title: 'a session gets pseudo-terminals, but not those of the whole host',
    exempt: {
      docker: 'the engine mounts them without a limit; docs/threat-model.md says so',
      'process, single': 'bubblewrap mounts them without a limit; docs/threat-model.md says so',
      gvisor: 'they are those of its own kernel',
    },
    prove: async ({ fresh, target }) => {
      const open = `import os
kept = []
try:
    while len(kept) < 100: kept.append(os.openpty())
except OSError: pass
print(len(kept))
for primary, secondary in kept: os.close(primary); os.close(secondary)`;
      const got = Number(await stdoutOf(await fresh(), open));
      if (target.bare === true) expect(got).toBe(100);
      else expect(got).toBeGreaterThanOrEqual(60);
      if (target.bare !== true) expect(got).toBeLessThanOrEqual(64);
    },
  },
];
