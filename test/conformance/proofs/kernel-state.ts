import { expect } from 'vitest';
import { type Context, type Requirement, stdoutOf } from '../context.ts';
import { type Attack, proveAttack } from './isolation.ts';

const OWN_KERNEL = 'they are state of its own kernel, whose memory counts as the sandbox’s';

/** State of the kernel that no limit of a sandbox counts, or that the whole host shares; see `Attack` in isolation.ts. */
const ATTACKS: readonly (Attack & Pick<Requirement, 'exempt'>)[] = [
  {
    id: 'host:socket-options',
    title: 'of the options of sockets only those can be set that concern one socket and cost nothing',
    exempt: { gvisor: OWN_KERNEL },
    code: `import struct
got, broken = [], []
def tried(name, family, kind, level, option, value, among):
    with socket.socket(family, kind) as sock:
        try: sock.setsockopt(level, option, value)
        except OSError:
            if among is broken: broken.append(name)
        else:
            if among is got: got.append(name)
program = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0xffff))
filter = struct.pack("@HP", 1, ctypes.addressof(program))
one, label = struct.pack("=i", 1), socket.inet_pton(socket.AF_INET6, "::1") + struct.pack("=IBBHHHI", 0, 0, 1, 1, 0, 0, 0)
for option in (26, 51): tried(f"program {option}", socket.AF_INET, socket.SOCK_DGRAM, 1, option, filter, got)
for option in (29, 35, 37, 60): tried(f"socket {option}", socket.AF_INET, socket.SOCK_STREAM, 1, option, one, got)
for level, option in ((0, 11), (0, 4), (6, 23), (17, 104)): tried(f"ip {level} {option}", socket.AF_INET, socket.SOCK_STREAM if level == 6 else socket.SOCK_DGRAM, level, option, one, got)
tried("errors over IPv6", socket.AF_INET6, socket.SOCK_DGRAM, 41, 25, one, got)
tried("flow label", socket.AF_INET6, socket.SOCK_DGRAM, 41, 32, label, got)
tried("congestion", socket.AF_INET, socket.SOCK_STREAM, 6, 13, b"reno", got)
for option in (2, 6, 7, 8, 9, 15): tried(f"usual {option}", socket.AF_INET, socket.SOCK_STREAM, 1, option, one, broken)
for option in (1, 4, 5, 6): tried(f"usual TCP {option}", socket.AF_INET, socket.SOCK_STREAM, 6, option, one, broken)
for option in (1, 2): tried(f"usual IP {option}", socket.AF_INET, socket.SOCK_DGRAM, 0, option, one, broken)
tried("V6ONLY", socket.AF_INET6, socket.SOCK_STREAM, 41, 26, one, broken)
assert not broken, broken
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'host:filters',
    title: 'no system call filter can be added: the memory that they are compiled into is one amount for the host',
    code: `import struct
program = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0x7fff0000))
filter = struct.pack("@HP", 1, ctypes.addressof(program))
got = []
for how in ("prctl", "seccomp"):
    child = os.fork()
    if child == 0:
        call("prctl", 38, 1, 0, 0, 0)
        os._exit(0 if (call("prctl", 22, 2, filter, 0, 0) if how == "prctl" else sys_call(277 if ARM else 317, 1, 0, filter)) == 0 else 1)
    if os.waitpid(child, 0)[1] == 0: got.append(how)
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'neighbour:multicast',
    title: 'no multicast group can be joined: leaving many of them would hold up networks of the whole host',
    exempt: { gvisor: OWN_KERNEL },
    code: `import struct
got = []
def tried(family, level, option, value):
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try: sock.setsockopt(level, option, value); got.append(option)
        except OSError: pass
group, group6 = socket.inet_aton("224.0.0.251"), socket.inet_pton(socket.AF_INET6, "ff02::fb")
address = struct.pack("=HH4s120x", socket.AF_INET, 0, group)
address6 = struct.pack("=HHI16s104x", socket.AF_INET6, 0, 0, group6)
source = struct.pack("=HH4s120x", socket.AF_INET, 0, socket.inet_aton("127.0.0.1"))
tried(socket.AF_INET, 0, 35, group + bytes(4) + struct.pack("=i", 1))
tried(socket.AF_INET, 0, 39, group + socket.inet_aton("127.0.0.1") * 2)
tried(socket.AF_INET, 0, 42, struct.pack("=I4x", 1) + address)
tried(socket.AF_INET, 0, 46, struct.pack("=I4x", 1) + address + source)
for option in (20, 27): tried(socket.AF_INET6, 41, option, group6 + struct.pack("=i", 1))
tried(socket.AF_INET6, 41, 42, struct.pack("=I4x", 1) + address6)
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'limit:file-attributes',
    title:
      'files get no attributes or access lists, which are memory that no limit counts, and are copied with their modes',
    code: `import struct, subprocess, tempfile
folder = tempfile.mkdtemp(dir="/dev/shm")
def access_list(users): return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in [(1, 7, 0xffffffff)] + [(2, 7, os.getuid())] * users + [(4, 7, 0xffffffff), (16, 7, 0xffffffff), (32, 7, 0xffffffff)])
got = []
for name, value in (("system.posix_acl_access", access_list(8000)), ("system.posix_acl_default", access_list(8000)), ("system.posix_acl_access", access_list(1))):
    for how in ("path", "link", "descriptor", "new call"):
        fd = os.open(folder, os.O_RDONLY)
        try:
            if how == "new call":
                arguments = struct.pack("@PII", ctypes.addressof(ctypes.create_string_buffer(value)), len(value), 0)
                if sys_call(463, -100, folder.encode(), 0, name.encode(), arguments, 16) != 0: continue
            elif how == "descriptor": os.setxattr(fd, name, value)
            else: os.setxattr(folder, name, value, follow_symlinks=how == "path")
            got.append(how)
        except OSError: pass
        finally: os.close(fd)
subprocess.run("echo a > f && chmod 640 f && cp -a f g && cp -p f h && tar cf t.tar f && mkdir x && tar xpf t.tar -C x && test $(stat -c %a g h x/f | sort -u) = 640 && rm -r *", shell=True, cwd=folder, check=True)
os.rmdir(folder)
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'host:page-cache',
    title: 'no call tells which files of the host are in memory',
    code: `got = []
path = "/usr/bin/env"
fd = os.open(path, os.O_RDONLY)
os.pread(fd, 4096, 0)
try: got += ["preadv2"] if os.preadv(fd, [bytearray(16)], 0, os.RWF_NOWAIT) > 0 else []
except OSError: pass
got += ["cachestat"] if sys_call(451, fd, (ctypes.c_uint64 * 2)(0, 0), (ctypes.c_uint64 * 5)(), 0) == 0 else []
assert os.preadv(fd, [bytearray(16)], 0) == 16
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'host:device-times',
    title: 'times of the host’s devices cannot be set, and the devices can be used',
    exempt: {
      'process, single': 'bubblewrap binds devices writable or not at all; docs/threat-model.md says so',
      docker: 'its devices are its own',
      gvisor: 'its devices are its own',
    },
    code: `got = []
for name in ("null", "zero", "full", "random", "urandom", "tty"):
    try: os.utime("/dev/" + name); got.append(name)
    except OSError: pass
open("/dev/null", "wb").write(b"x")
assert len(open("/dev/zero", "rb").read(8)) == 8 and len(open("/dev/urandom", "rb").read(8)) == 8
try: os.write(os.open("/dev/full", os.O_WRONLY), b"x"); raise AssertionError
except OSError as error: assert error.errno == errno.ENOSPC
verdict(bool(got))`,
    bare: 'in',
  },
];

const GIVEN_UP_MS = 15_000;

export const kernelStateRequirements: readonly Requirement[] = [
  ...ATTACKS.map((attack) => ({
    ...{ id: attack.id, tag: 'driver' as const, title: attack.title, exempt: attack.exempt ?? {} },
    prove: (context: Context) => proveAttack(attack, context),
  })),
  {
    id: 'limit:orphaned-connections',
    tag: 'driver',
    title: 'connections that were closed with data left, which the host counts for all, are given up within seconds',
    exempt: {
      bare: 'its network is the host’s, which waits for minutes',
      docker: 'an engine sets nothing of the kind; docs/threat-model.md says so',
      'process, single': 'bubblewrap makes its network; docs/threat-model.md says so',
      gvisor: 'they are those of its own kernel',
    },
    prove: async ({ fresh }) => {
      const close = `import os, socket, time
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
listener.bind(("127.0.0.1", 0)); listener.listen(100)
FIN_WAIT1 = "04"
def orphans(port=""): return sum(line.split()[3] == FIN_WAIT1 and line.split()[1].endswith(port) for line in open("/proc/net/tcp"))
many = 0
for _ in range(50):
    near = socket.create_connection(listener.getsockname())
    port = f":{near.getsockname()[1]:04X}"
    near.setblocking(False)
    try:
        while True: near.send(bytes(1500))
    except BlockingIOError: near.close()
    many += orphans(port)  # each for itself: on a busy machine the first is given up before the last is there
end = time.monotonic() + ${GIVEN_UP_MS / 1000}
# Linux before 6.15 has no such setting.
while os.path.exists("/proc/sys/net/ipv4/tcp_rto_max_ms") and orphans() and time.monotonic() < end: time.sleep(0.1)
print(many, orphans() if os.path.exists("/proc/sys/net/ipv4/tcp_rto_max_ms") else 0)`;
      expect(await stdoutOf(await fresh(), close)).toBe('50 0');
    },
  },
];
