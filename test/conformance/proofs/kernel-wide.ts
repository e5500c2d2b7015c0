import { expect } from 'vitest';
import { COVERED_BELOW_KEPT, KEPT_PROC_ENTRIES } from '../../../src/sandbox/proc-entries.ts';
import { type Context, type Requirement, stdoutOf } from '../context.ts';
import { type Attack, proveAttack } from './isolation.ts';

const OWN_KERNEL = 'it is of its own kernel, which no other sandbox has';

/** What ordinary calls reach of the one kernel that the host and all sandboxes have; see `Attack` in isolation.ts. */
const ATTACKS: readonly (Attack & Pick<Requirement, 'exempt'>)[] = [
  {
    id: 'limit:memory-policies',
    title:
      'no policy of shared memory and no table of futexes can be made, which are memory of the kernel that no limit counts',
    code: `import mmap
got = []
shared = mmap.mmap(-1, 4096)
address, mask = ctypes.addressof(ctypes.c_char.from_buffer(shared)), ctypes.c_ulong(1)
got += ["mbind"] if sys_call(235 if ARM else 237, ctypes.c_void_p(address), ctypes.c_ulong(4096), 2, ctypes.byref(mask), ctypes.c_ulong(64), 0) == 0 else []
got += ["set_mempolicy"] if sys_call(237 if ARM else 238, 0, None, ctypes.c_ulong(0)) == 0 else []
got += ["set_mempolicy_home_node"] if sys_call(450, ctypes.c_void_p(address), ctypes.c_ulong(4096), ctypes.c_ulong(0), ctypes.c_ulong(0)) == 0 else []
child = os.fork()
if child == 0: os._exit(0 if call("prctl", 78, 1, ctypes.c_ulong(16), ctypes.c_ulong(0), 0) == 0 else 1)
got += ["futexes"] if os.waitpid(child, 0)[1] == 0 else []
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'limit:huge-pages',
    title: 'huge pages, which the host reserves and no limit of memory counts, cannot be mapped; memory can',
    code: `import mmap
got = []
size, reserve_none, huge = 2 << 20, 0x4000, 0x40000
libc.mmap.restype = ctypes.c_void_p
def mapped(flags): return libc.mmap(None, ctypes.c_size_t(size), 3, flags, -1, 0) not in (None, 2**64 - 1)
for kind in (mmap.MAP_SHARED, mmap.MAP_PRIVATE): got += ["mmap"] if mapped(kind | mmap.MAP_ANONYMOUS | reserve_none | huge) else []
got += ["memfd_create"] if call("memfd_create", b"huge", 4) >= 0 else []
segment = call("shmget", 0, size, 0o4000 | 0o1000 | 0o10000 | 0o600)
if segment >= 0: got.append("shmget"); call("shmctl", segment, 0, None)
assert mapped(mmap.MAP_SHARED | mmap.MAP_ANONYMOUS) and os.memfd_create("small") >= 0
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'host:core-dumps',
    title: 'a crash starts no program of the host: the limit of core dumps is the one that stops it, and stays so',
    code: `import resource, subprocess
LEFT_OUT = (1, 1)
pair = (ctypes.c_uint64 * 2)(0, 0)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
sys_call(164 if ARM else 160, 4, pair)
for pid in (0, os.getpid()): sys_call(261 if ARM else 302, pid, 4, pair, None); sys_call(261 if ARM else 302, pid, 4, pair, (ctypes.c_uint64 * 2)())
seen = subprocess.run(["bash", "-c", "ulimit -c 0; exec python3 -c 'import resource; print(resource.getrlimit(resource.RLIMIT_CORE) == (1, 1))'"], capture_output=True, text=True).stdout
before = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (before[0] - 1, before[1]))
assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == before[0] - 1
resource.setrlimit(resource.RLIMIT_NOFILE, before)
verdict(resource.getrlimit(resource.RLIMIT_CORE) != LEFT_OUT or seen.strip() != "True")`,
    bare: 'in',
    alone: true,
  },
  {
    id: 'host:command-line',
    title: 'no program gives itself a command line of another size, which tools of the host would read whole',
    code: `import struct
libc.mmap.restype = libc.sbrk.restype = ctypes.c_void_p
size = 8 << 20
address = libc.mmap(None, ctypes.c_size_t(size), 3, 0x4022, -1, 0)
stat = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
at = lambda field: int(stat[field - 3])
fields = (at(26), at(27), at(45), at(46), at(47), libc.sbrk(0), at(28), address, address + size, at(50), at(51), 0, 0, -1)
table = ctypes.create_string_buffer(struct.pack("11QQIi", *fields))
call("prctl", 35, 14, ctypes.byref(table), 104, 0)
verdict(len(open("/proc/self/cmdline", "rb").read()) >= size)`,
    bare: 'in',
    alone: true,
  },
  {
    id: 'host:project-ids',
    title:
      'no file can be given another project id or other flags, by which it would leave the quota of a mounted folder',
    code: `import fcntl, tempfile
got = []
with tempfile.TemporaryFile() as file:
    for name, ask, change, size in (("project", 0x801c581f, 0x401c5820, 28), ("flags", 0x80086601, 0x40086602, 8)):
        held = bytearray(size)
        try: fcntl.ioctl(file, ask, held)
        except OSError: pass
        try: fcntl.ioctl(file, change, held); got.append(name)
        except OSError as error:
            if TARGET != "gvisor": assert error.errno == errno.ENOTTY, error
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'host:modules',
    title: 'no ioctl makes the host load a module of its kernel, and no process asks for a processor core of its own',
    code: `import fcntl, socket
got = []
_, terminal = os.openpty()
with socket.socket() as near:
    # Without a barrier, and as root, those for networks would change the host's.
    networks = [] if TARGET == "bare" else [0x8900 + low for low in (0x40, 0x41, 0x80, 0x81, 0x82, 0x83, 0xa0, 0xa1)]
    for command, file in [(0x5423, terminal)] + [(command, near) for command in networks]:
        try: fcntl.ioctl(file, command, bytes(64)); got.append(command)
        except OSError as error:
            if TARGET != "bare": assert error.errno == errno.EPERM, (hex(command), error)
if TARGET != "bare": assert call("prctl", 62, 1, 0, 0, 0) == -1 and ctypes.get_errno() == errno.EINVAL, ctypes.get_errno()
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'host:proc',
    title: 'of what /proc has beside processes, only what programs need can be read or listed',
    exempt: { gvisor: OWN_KERNEL },
    code: `def tells(path):
    try:
        if os.path.isdir(path): return bool(os.listdir(path))
        with open(path, "rb") as file: return bool(file.read(1))
    except OSError: return False
names = [name for name in os.listdir("/proc") if not name.isdigit() and name not in KEPT]
told = [name for name in names + COVERED if tells("/proc/" + name)]
changeable = [name for name in ("pressure/cpu", "pressure/memory", "pressure/io") if writable("/proc/" + name)]
assert all(tells("/proc/" + name) for name in ("cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "sys/kernel/osrelease", "net/dev"))
if TARGET != "bare": assert not told, told
verdict(bool(told or changeable))`,
    bare: 'in',
  },
];

const ENTRIES = `KEPT = ${JSON.stringify(KEPT_PROC_ENTRIES)}
COVERED = ${JSON.stringify(COVERED_BELOW_KEPT)}
`;

const lock = (secret: number) => `import fcntl, os, struct, tempfile
file = tempfile.TemporaryFile()
fcntl.fcntl(file, 37, struct.pack("hhqqixxxx", fcntl.F_WRLCK, 0, ${secret}, 1, 0))
print("locked")`;

export const kernelWideRequirements: readonly Requirement[] = [
  ...ATTACKS.map((attack) => ({
    ...{ id: attack.id, title: attack.title, exempt: attack.exempt ?? {} },
    tag: 'driver' as const,
    prove: (context: Context) => proveAttack({ ...attack, code: ENTRIES + attack.code }, context),
  })),
  {
    id: 'host:linger',
    tag: 'driver',
    title: 'no socket makes the kernel wait when it is closed, and programs that ask for that go on',
    exempt: { gvisor: OWN_KERNEL },
    prove: async ({ fresh, target }) => {
      const session = await fresh();
      const linger = `import socket, struct
with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as near:
    for value in ((1, 100), (1, 0), (0, 0), (1, 7)): near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", *value))
    print(struct.unpack("ii", near.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)))`;
      expect(await stdoutOf(session, linger)).toBe(target.bare === true ? '(1, 7)' : '(0, 0)');
      const reset = `const server = require('node:net').createServer((socket) => socket.resetAndDestroy());
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const near = require('node:net').connect(server.address().port, '127.0.0.1').on('error', () => {}).resume();
await new Promise((resolve) => near.on('close', resolve));
server.close();
console.log('closed');`;
      const { outcome, stdout } = await session.run(reset, { language: 'javascript', timeoutMs: 30_000 });
      if (outcome.kind !== 'unavailable') expect([outcome, stdout.trim()]).toEqual([{ kind: 'ok' }, 'closed']);
    },
  },
  {
    id: 'neighbour:locks',
    tag: 'driver',
    title: 'locks of one session cannot be read in another, where they would carry messages',
    prove: async ({ fresh, target }) => {
      const [sender, receiver] = [await fresh(), await fresh()];
      const secret = 1_000_000_000 + Math.floor(Math.random() * 1_000_000_000);
      expect(await stdoutOf(sender, lock(secret))).toBe('locked');
      const read = `import os
print("${secret}" in (open("/proc/locks").read() if os.path.exists("/proc/locks") else ""))`;
      expect(await stdoutOf(receiver, read)).toBe(target.bare === true ? 'True' : 'False');
    },
  },
];
