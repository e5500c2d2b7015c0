import { expect } from 'vitest';
import type { Target } from '../../support/targets.ts';
import { type Context, type Requirement, stdoutOf } from '../context.ts';

/**
 * An attack as Python that prints `in` where it got through and `out` where it did not. On the bare driver it must print `in`, or the proof proves
 * nothing; where that would harm the host, or needs what the host lacks, `bare` says why it is not tried.
 */
export interface Attack {
  readonly id: string;
  readonly title: string;
  readonly code: string;
  readonly bare: 'in' | { readonly notTried: string };
  /** In a session of its own: what earlier proofs left behind would disturb it. */
  readonly alone?: boolean;
}

const PRELUDE = `import ctypes, os, socket, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    ctypes.set_errno(0)
    return getattr(libc, name)(*args)
def sys_call(number, *args):
    ctypes.set_errno(0)
    return libc.syscall(number, *args)
def verdict(got_in): print("in" if got_in else "out")
def readable(path):
    try:
        with open(path, "rb") as f: return len(f.read(64)) > 0
    except OSError: return False
def writable(path):
    try:
        os.close(os.open(path, os.O_WRONLY)); return True
    except OSError: return False
ARM = os.uname().machine == "aarch64"
`;

const ROOT_ONLY = { notTried: 'succeeds only for root with all capabilities; the suite does not depend on that' };

const ATTACKS: readonly Attack[] = [
  {
    id: 'host:shadow',
    title: '/etc/shadow and the homes of the host cannot be read',
    code: 'verdict(readable("/etc/shadow") or any(os.path.isdir(d) and os.access(d, os.R_OK) for d in ("/root", "/home/user", os.path.expanduser("~root") + "/.ssh")))',
    bare: 'in',
  },
  {
    id: 'host:etc',
    title: 'the /etc inside tells nothing of the host',
    code: 'verdict(any(len(line.split(":")) > 2 and line.split(":")[0] not in ("root", "sandbox", "nobody", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy", "www-data", "backup", "list", "irc", "gnats", "_apt", "systemd-network", "messagebus") for line in open("/etc/passwd")) or os.path.exists("/etc/machine-id") and os.path.getsize("/etc/machine-id") > 10 or os.path.exists("/etc/docker/daemon.json"))',
    bare: 'in',
  },
  {
    id: 'host:processes',
    title: '/proc shows only the processes of the sandbox',
    code: 'verdict(len([p for p in os.listdir("/proc") if p.isdigit()]) > 8)',
    bare: 'in',
    alone: true,
  },
  {
    id: 'host:pid1',
    title: 'the supervisor cannot be read or traced',
    code: `import signal
bad = any(readable(f"/proc/1/{name}") for name in ("environ", "maps", "mem", "auxv"))
try: os.listdir("/proc/1/root/"); bad = bad or os.getpid() != 1 and os.readlink("/proc/1/root") != "/"
except OSError: pass
for fd in range(3, 20):
    try: os.close(os.open(f"/proc/1/fd/{fd}", os.O_RDONLY)); bad = True
    except OSError: pass
verdict(bad)`,
    bare: { notTried: 'process 1 is the host’s own' },
  },
  {
    id: 'host:proc-sys',
    title: 'nothing of /proc/sys, sysrq, core_pattern or a release_agent can be written',
    code: `paths = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger", "/proc/sys/kernel/hostname", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/cgroup.procs", "/proc/1/oom_score_adj"]
verdict(any(writable(path) for path in paths))`,
    bare: 'in',
  },
  {
    id: 'host:devices',
    title: 'no device but the harmless ones is there, and none can be made',
    code: `names = set(os.listdir("/dev")) - {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "pts", "shm", "mqueue", "core", "fd", "stdin", "stdout", "stderr"}
names -= set(EMULATED)
made = False
try:
    os.mknod("/tmp/disk", 0o60600, os.makedev(7, 0)); made = True
except OSError: pass
verdict(bool(names) or made)`,
    bare: 'in',
  },
  {
    id: 'host:capabilities',
    title: 'no capability is in any set, no-new-privileges is on, a filter is installed',
    code: `status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
caps = any(int(status[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb"))
verdict(caps or status.get("NoNewPrivs", "1").strip() != "1" or status.get("Seccomp", "2").strip() != "2")`,
    bare: 'in',
  },
  {
    id: 'host:root',
    title: 'the root, /usr, /etc and /dev are read-only, and the user is not root',
    code: `made = False
for folder in ("/", "/usr", "/usr/bin", "/etc", "/dev", "/opt", "/var", "/run"):
    try:
        open(os.path.join(folder, ".hotcell-probe"), "w").close(); os.unlink(os.path.join(folder, ".hotcell-probe")); made = True
    except OSError: pass
verdict(made or os.getuid() == 0)`,
    bare: 'in',
  },
  {
    id: 'host:cgroup-names',
    title: '/proc/self/cgroup tells neither how deep the groups of the host are nor what Hotcell calls them',
    code: 'names = open("/proc/self/cgroup").read()\nverdict("hotcell" in names or ".." in names)',
    bare: { notTried: 'there the groups are those of whoever runs the suite' },
  },
  {
    id: 'host:namespaces',
    title: 'unshare, setns and clone with new namespaces are refused',
    code: `inside = call("unshare", 0x10000000) == 0
pid = sys_call(220 if ARM else 56, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
if pid > 0: os.waitpid(pid, 0)
verdict(inside or pid > 0)`,
    bare: 'in',
  },
  {
    id: 'host:mounts',
    title: 'mount, remount, umount, pivot_root and chroot are refused',
    code: `got = call("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, None) == 0
got = got or call("mount", None, b"/", None, 32 | 4096, None) == 0
got = got or call("umount2", b"/workspace", 2) == 0 or call("umount2", b"/proc", 2) == 0
got = got or call("chroot", b"/tmp") == 0
got = got or sys_call(41 if ARM else 155, b"/tmp", b"/tmp") == 0
verdict(got)`,
    bare: { notTried: 'would change the mounts of the host' },
  },
  {
    id: 'host:kernel-calls',
    title: 'bpf, keyctl, perf, userfaultfd, io_uring, kexec, modules and handles are refused',
    code: `numbers = {"bpf": 321, "keyctl": 250, "add_key": 248, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425, "kexec_load": 246, "init_module": 175, "open_by_handle_at": 304, "pidfd_getfd": 438, "process_vm_readv": 310, "ptrace": 101}
if ARM: numbers = {"bpf": 280, "keyctl": 219, "add_key": 217, "perf_event_open": 241, "userfaultfd": 282, "io_uring_setup": 425, "kexec_load": 104, "init_module": 105, "open_by_handle_at": 265, "pidfd_getfd": 438, "process_vm_readv": 270, "ptrace": 117}
buffer = ctypes.create_string_buffer(256)
got = []
for name, number in numbers.items():
    arguments = {"keyctl": (0, -3, 1, 0, 0), "perf_event_open": (buffer, 0, -1, -1, 0), "io_uring_setup": (4, buffer), "userfaultfd": (1,), "bpf": (0, buffer, 128), "add_key": (b"user", b"x", b"y", 1, -3), "ptrace": (0, 0, 0, 0)}.get(name, (0, 0, 0, 0, 0))
    if sys_call(number, *arguments) >= 0: got.append(name)
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'host:setuid',
    title: 'setuid programs are inert',
    code: `import subprocess
out = [subprocess.run([p, "-c", "id -u"], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout.strip() for p in {os.path.realpath(p) for p in ("/usr/bin/su", "/bin/su")} if os.path.exists(p)]
verdict("0" in out)`,
    bare: ROOT_ONLY,
  },
  {
    id: 'host:netlink',
    title: 'only the harmless socket families can be opened',
    code: `got = []
for family, kind, protocol in ((17, 3, 3), (16, 3, 15), (38, 5, 0), (40, 1, 0), (2, 3, 1)):
    try: socket.socket(family, kind, protocol).close(); got.append(family)
    except OSError: pass
verdict(bool(got))`,
    bare: 'in',
  },
  {
    id: 'host:terminal',
    title: 'there is no terminal to inject into',
    code: `import fcntl, termios
got = False
try:
    fd = os.open("/dev/tty", os.O_RDWR); fcntl.ioctl(fd, termios.TIOCSTI, b"x"); got = True
except OSError: pass
try:
    primary, secondary = os.openpty(); fcntl.ioctl(secondary, termios.TIOCSTI, b"x"); got = True
except OSError: pass
verdict(got)`,
    bare: { notTried: 'whether a terminal takes it depends on how the tests were started' },
  },
  {
    id: 'host:descriptors',
    title: 'a kernel holds descriptors 0 to 2 and one private socket, and a child of it no more than three',
    code: `import subprocess
mine = sorted(int(name) for name in os.listdir("/proc/self/fd"))
theirs = subprocess.run(["/bin/ls", "/proc/self/fd"], capture_output=True, text=True).stdout.split()
verdict(mine[:4] != [0, 1, 2, 3] or len(mine) > 5 or [n for n in theirs if int(n) > 3] != [])`,
    bare: { notTried: 'the guest does the same there' },
    alone: true,
  },
];

/** Devices that gVisor's own kernel makes up: they lead to nothing of the host. */
const emulated = (target: Target) =>
  `TARGET = ${JSON.stringify(target.name)}\nEMULATED = ${target.name === 'gvisor' ? '["char", "fuse", "net"]' : '[]'}\n`;

export async function proveAttack(attack: Attack, { session, fresh, target }: Context): Promise<void> {
  const code = PRELUDE + emulated(target) + attack.code;
  if (target.bare === true) {
    expect(await stdoutOf(await fresh(), code), 'without a barrier the attack must succeed').toBe('in');
  } else {
    expect(await stdoutOf(attack.alone === true ? await fresh() : session, code)).toBe('out');
  }
}

export const isolationRequirements: readonly Requirement[] = [
  ...ATTACKS.map((attack) => ({
    id: attack.id,
    tag: 'driver' as const,
    title: attack.title,
    ...(attack.bare === 'in' ? {} : { exempt: { bare: attack.bare.notTried } }),
    prove: (context: Context) => proveAttack(attack, context),
  })),
  {
    id: 'neighbour:files',
    tag: 'driver',
    title: 'nothing that one session writes anywhere can be read by another',
    prove: async ({ fresh, target }) => {
      const [a, b] = [await fresh(), await fresh()];
      const folders =
        '["/workspace", "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/run/lock", "/", "/dev", "/mnt", "/opt", "/home", "/proc/self"]';
      const write = `import os
for folder in ${folders}:
    try: open(f"{folder}/neighbour-secret", "w").write("secret")
    except OSError: pass`;
      await stdoutOf(a, write);
      const found = await stdoutOf(
        b,
        `import os\nprint([f for f in ${folders} if os.path.exists(f"{f}/neighbour-secret")])`,
      );
      await stdoutOf(
        a,
        `import os\nfor f in ${folders}:\n    try: os.unlink(f"{f}/neighbour-secret")\n    except OSError: pass`,
      );
      if (target.bare === true) expect(found).not.toBe('[]');
      else expect(found).toBe('[]');
    },
  },
  {
    id: 'neighbour:ipc',
    tag: 'driver',
    title: 'System V memory, message queues and abstract sockets are not shared',
    prove: async ({ fresh, target }) => {
      const [a, b] = [await fresh(), await fresh()];
      const make = `import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
shm, queue = libc.shmget(0x4711, 4096, 0o1666), libc.msgget(0x4711, 0o1666)
getattr(libc, "mq_open", lambda *_: -1)(b"/hotcell-neighbour", 0o102, 0o666, None)
server = socket.socket(socket.AF_UNIX); server.bind("\\0hotcell-neighbour"); server.listen(1)
print(shm >= 0, queue >= 0)`;
      expect(await stdoutOf(a, make)).toBe('True True');
      const look = `import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
got = []
if libc.shmget(0x4711, 4096, 0o666) >= 0: got.append("shm")
if libc.msgget(0x4711, 0o666) >= 0: got.append("queue")
if getattr(libc, "mq_open", lambda *_: -1)(b"/hotcell-neighbour", 2) >= 0: got.append("POSIX queue")
try: socket.socket(socket.AF_UNIX).connect("\\0hotcell-neighbour"); got.append("abstract")
except OSError: pass
print(got)`;
      const found = await stdoutOf(b, look);
      await stdoutOf(
        a,
        'libc.shmctl(shm, 0, None); libc.msgctl(queue, 0, None); getattr(libc, "mq_unlink", len)(b"/hotcell-neighbour"); server.close(); print()',
      );
      if (target.bare === true) expect(found).toMatch(/'shm', 'queue', .*'abstract'/);
      else expect(found).toBe('[]');
    },
  },
  {
    id: 'neighbour:sent-descriptors',
    tag: 'driver',
    title: 'descriptors that a session sends and nobody receives keep no neighbour from running code',
    prove: async ({ fresh, target }) => {
      // A kernel of one's own counts for nobody else, and takes a second for a thousand of them.
      const most = target.name === 'gvisor' ? 2_000 : 25_000;
      const [a, greedy, b] = [await fresh(), await fresh({ limits: { openFiles: 65_536 } }), await fresh()];
      await stdoutOf(b, 'x = 1');
      const send = `import os, socket
null, pairs, sent = os.open("/dev/null", os.O_RDONLY), [], 0
try:
    while sent < ${most}:
        pairs.append(socket.socketpair())
        pairs[-1][0].setblocking(False)
        try:
            while sent < ${most}: sent += 253 * socket.send_fds(pairs[-1][0], [b"x"], [null] * 253)
        except BlockingIOError: pass
except OSError: pass`;
      for (const attacker of [a, greedy]) {
        await stdoutOf(attacker, send);
        // What was born in an execution makes the next one get pipes of its own, as descriptors that are sent.
        for (let call = 0; call < 3; call += 1) {
          expect(await stdoutOf(b, 'import subprocess; subprocess.run("true"); print(x)')).toBe('1');
        }
      }
    },
  },
  {
    id: 'neighbour:signals',
    tag: 'driver',
    title: 'a process of another session cannot be seen or signalled',
    prove: async ({ fresh, target }) => {
      const [a, b] = [await fresh(), await fresh()];
      await stdoutOf(a, 'import subprocess\np = subprocess.Popen(["sleep", "4720"])\nprint(p.pid)');
      const seen = await stdoutOf(
        b,
        `import os
def is_it(pid):
    try: return "4720" in open(f"/proc/{pid}/cmdline").read()
    except OSError: return False
print(any(is_it(pid) for pid in os.listdir("/proc") if pid.isdigit()))`,
      );
      expect(seen).toBe(target.bare === true ? 'True' : 'False');
      if (target.bare === true) return;
      await b.run(
        'import os, signal\nfor pid in range(2, 400):\n    try: os.kill(pid, 0) if pid == os.getpid() else os.kill(pid, signal.SIGKILL)\n    except OSError: pass',
      );
      expect(await stdoutOf(a, 'print(p.poll())')).toBe('None');
      expect((await b.run('1')).outcome.kind).toBe('ok');
    },
  },
];
