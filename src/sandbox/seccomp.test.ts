import { describe, expect, test } from 'vitest';
import { type Architecture, pinnedFilter, seccompFilter } from './seccomp.ts';

const ARCHITECTURES: readonly Architecture[] = ['x64', 'arm64'];
const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7, i386: 0x40000003, arm: 0x40000028 };
const ALLOW = 'allow';
const KILL = 'kill';
/** The call returns success without effect. */
const IGNORED = 'errno 0';
const EPERM = 'errno 1';
const ENOMEM = 'errno 12';
const EACCES = 'errno 13';
const EINVAL = 'errno 22';
const ENOTTY = 'errno 25';
const ENOSYS = 'errno 38';
const ENOPROTOOPT = 'errno 92';
const EPROTONOSUPPORT = 'errno 93';
const EOPNOTSUPP = 'errno 95';
const EAFNOSUPPORT = 'errno 97';

/** Numbers from the kernel's own tables: name, number on x64, number on arm64 (-1: there is none). */
const NUMBERS: Readonly<Record<string, readonly [x64: number, arm64: number]>> = {
  ...{ read: [0, 63], write: [1, 64], mmap: [9, 222], ioctl: [16, 29], socket: [41, 198], socketpair: [53, 199] },
  ...{ clone: [56, 220], clone3: [435, 435], execve: [59, 221], kill: [62, 129], openat: [257, 56], futex: [202, 98] },
  ...{ ptrace: [101, 117], process_vm_readv: [310, 270], process_vm_writev: [311, 271], pidfd_getfd: [438, 438] },
  ...{ unshare: [272, 97], setns: [308, 268], mount: [165, 40], umount2: [166, 39], pivot_root: [155, 41] },
  ...{ chroot: [161, 51], open_tree: [428, 428], move_mount: [429, 429], fsopen: [430, 430], fsmount: [432, 432] },
  ...{ mknodat: [259, 33], open_by_handle_at: [304, 265], bpf: [321, 280], keyctl: [250, 219] },
  ...{ perf_event_open: [298, 241], userfaultfd: [323, 282], add_key: [248, 217], request_key: [249, 218] },
  ...{ io_uring_setup: [425, 425], io_uring_enter: [426, 426], kexec_load: [246, 104], init_module: [175, 105] },
  ...{ finit_module: [313, 273], reboot: [169, 142], iopl: [172, -1], personality: [135, 92], syslog: [103, 116] },
  ...{ chmod: [90, -1], fchmod: [91, 52], fchmodat: [268, 53], fchmodat2: [452, 452], open: [2, -1], creat: [85, -1] },
  ...{ mknod: [133, -1], mkdir: [83, -1], mkdirat: [258, 34], openat2: [437, 437], io_setup: [206, 0] },
  ...{ open_tree_attr: [467, 467], pidfd_open: [434, 434], pidfd_send_signal: [424, 424], prlimit64: [302, 261] },
  ...{ setpriority: [141, 140], ioprio_set: [251, 30], sched_setparam: [142, 118], sched_setscheduler: [144, 119] },
  ...{ sched_setattr: [314, 274], sched_setaffinity: [203, 122], move_pages: [279, 239], migrate_pages: [256, 238] },
  ...{ process_madvise: [440, 440], process_mrelease: [448, 448], memfd_secret: [447, 447], cachestat: [451, 451] },
  ...{ statmount: [457, 457], listmount: [458, 458], lsm_set_self_attr: [460, 460], file_setattr: [469, 469] },
  ...{
    modify_ldt: [154, -1],
    sethostname: [170, 161],
    mseal: [462, 462],
    landlock_restrict_self: [446, 446],
    futex_wait: [455, 455],
  },
  ...{ setsockopt: [54, 208], getsockopt: [55, 209], setxattr: [188, 5], lsetxattr: [189, 6], fsetxattr: [190, 7] },
  ...{
    setxattrat: [463, 463],
    removexattr: [197, 14],
    preadv2: [327, 286],
    mincore: [27, 232],
    prctl: [157, 167],
    seccomp: [317, 277],
  },
  fcntl: [72, 25],
  ...{ mbind: [237, 235], set_mempolicy: [238, 237], set_mempolicy_home_node: [450, 450], get_mempolicy: [239, 236] },
  ...{ setrlimit: [160, 164], getrlimit: [97, 163], shmget: [29, 194], memfd_create: [319, 279] },
  ...{ close_range: [436, 436], epoll_pwait2: [441, 441], getxattrat: [464, 464], file_getattr: [468, 468] },
};

const DENIED = [
  ...['ptrace', 'process_vm_readv', 'process_vm_writev', 'pidfd_getfd', 'unshare', 'setns', 'mount', 'umount2'],
  ...['pivot_root', 'chroot', 'open_tree', 'move_mount', 'fsopen', 'fsmount', 'open_by_handle_at'],
  ...['bpf', 'keyctl', 'perf_event_open', 'userfaultfd', 'add_key', 'request_key', 'io_uring_setup', 'io_uring_enter'],
  ...['kexec_load', 'init_module', 'finit_module', 'reboot', 'iopl', 'personality', 'syslog'],
  ...['open_tree_attr', 'move_pages', 'migrate_pages', 'lsm_set_self_attr', 'modify_ldt'],
  ...['mbind', 'set_mempolicy', 'set_mempolicy_home_node'],
  'sethostname',
];

const ABSENT = [
  ...['clone3', 'openat2', 'io_setup', 'pidfd_send_signal', 'process_madvise', 'process_mrelease', 'memfd_secret'],
  ...['cachestat', 'statmount', 'listmount', 'file_setattr', 'setxattrat', 'seccomp'],
];

const ALLOWED = [
  ...['read', 'write', 'mmap', 'execve', 'kill', 'openat', 'futex', 'mseal', 'landlock_restrict_self', 'futex_wait'],
  ...['close_range', 'epoll_pwait2', 'getxattrat', 'file_getattr', 'getsockopt', 'removexattr', 'mincore'],
  ...['get_mempolicy', 'getrlimit', 'shmget', 'memfd_create'],
  // `mknodat` creates FIFOs; devices need a capability that no sandbox has.
  'mknodat',
];

const SIGCHLD = 17;
const THREAD_FLAGS = 0x3d0f00;

type SocketOption = readonly [why: string, level: number, option: number];

const USUAL_OPTIONS: readonly SocketOption[] = [
  ...([
    ['SO_REUSEADDR', 1, 2],
    ['SO_KEEPALIVE', 1, 9],
    ['SO_REUSEPORT', 1, 15],
    ['SO_RCVBUF', 1, 8],
  ] as const),
  ...([
    ['SO_SNDTIMEO', 1, 21],
    ['SO_RCVTIMEO', 1, 20],
    ['SO_PASSCRED', 1, 16],
    ['SO_BROADCAST', 1, 6],
  ] as const),
  ...([
    ['TCP_NODELAY', 6, 1],
    ['TCP_KEEPCNT', 6, 6],
    ['TCP_USER_TIMEOUT', 6, 18],
    ['TCP_QUICKACK', 6, 12],
  ] as const),
  ...([
    ['IP_TOS', 0, 1],
    ['IP_MULTICAST_TTL', 0, 33],
    ['IP_MULTICAST_ALL of Java', 0, 49],
  ] as const),
  ...([
    ['IPV6_V6ONLY', 41, 26],
    ['IPV6_MULTICAST_HOPS', 41, 18],
    ['IPV6_TCLASS', 41, 67],
  ] as const),
];

const HARMFUL_OPTIONS: readonly SocketOption[] = [
  ...[26, 27, 50, 51, 52].map((option) => ['a program for a socket', 1, option] as const),
  ...[29, 35, 37, 63, 64, 65].map((option) => ['timestamps', 1, option] as const),
  ...[46, 60, 61, 69, 73].map((option) => ['how the host polls, sends and reserves memory', 1, option] as const),
  ...[35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48].map(
    (option) => ['a multicast group over IPv4', 0, option] as const,
  ),
  ...[20, 21, 27, 28, 42, 43, 44, 45, 46, 47, 48].map((option) => ['a multicast group over IPv6', 41, option] as const),
  ...([
    ['a flow label', 41, 32],
    ['extension headers', 41, 57],
    ['options of IP', 0, 4],
  ] as const),
  ...([
    ['queued errors', 0, 11],
    ['queued errors over IPv6', 41, 25],
  ] as const),
  ...([
    ['another protocol above TCP', 6, 31],
    ['TCP_CONGESTION', 6, 13],
    ['TCP_MD5SIG', 6, 14],
  ] as const),
  ...([
    ['UDP_GRO', 17, 104],
    ['UDP_SEGMENT', 17, 103],
    ['a level of TLS', 282, 1],
    ['netlink', 270, 1],
  ] as const),
  ...([
    ['the number of a usual option, at another level', 270, 2],
    ['a level above 32 bits', 2 ** 32 + 41, 32],
  ] as const),
];

const BY_ARGUMENT: readonly (readonly [call: string, args: readonly number[], decision: string, why: string])[] = [
  ['clone', [SIGCHLD], ALLOW, 'a fork'],
  ['clone', [THREAD_FLAGS], ALLOW, 'a thread'],
  ['clone', [0x10000000 | SIGCHLD], EPERM, 'a user namespace'],
  ['clone', [0x00020000 | SIGCHLD], EPERM, 'a mount namespace'],
  ['clone', [0x02000000], EPERM, 'a cgroup namespace'],
  ['clone', [0x04000000], EPERM, 'a host name of its own'],
  ['clone', [0x08000000], EPERM, 'an ipc namespace'],
  ['clone', [0x20000000], EPERM, 'a pid namespace'],
  ['clone', [0x40000000], EPERM, 'a network namespace'],
  ['clone3', [0], ENOSYS, 'flags behind a pointer'],
  ['socket', [1, 1, 0], ALLOW, 'a Unix socket'],
  ['socket', [2, 1, 6], ALLOW, 'TCP to localhost'],
  ['socket', [10, 2, 17], ALLOW, 'UDP over IPv6'],
  ['socket', [16, 3, 0], EACCES, 'routes'],
  ['socket', [16, 3, 12], EACCES, 'netfilter'],
  ['socket', [16, 3, 16], EACCES, 'generic netlink'],
  ['socket', [17, 3, 0], EAFNOSUPPORT, 'raw packets'],
  ['socket', [38, 5, 0], EAFNOSUPPORT, "the kernel's cryptography"],
  ['socket', [40, 1, 0], EAFNOSUPPORT, 'the host of a virtual machine'],
  ['socket', [2, 0x80801, 0], ALLOW, 'TCP with flags beside its type'],
  ['socket', [2, 1, 262], EPROTONOSUPPORT, 'MPTCP'],
  ['socket', [2, 2, 136], EPROTONOSUPPORT, 'UDP-Lite'],
  ['socket', [10, 1, 132], EPROTONOSUPPORT, 'SCTP'],
  ['socket', [2, 5, 0], EPROTONOSUPPORT, 'SCTP by its type'],
  ['socket', [2, 3, 1], EPROTONOSUPPORT, 'raw ICMP'],
  ['socketpair', [1, 1, 0], ALLOW, 'a pair of Unix sockets'],
  ['socketpair', [40, 1, 0], EAFNOSUPPORT, 'a pair of another family'],
  ['socketpair', [30, 1, 0], EAFNOSUPPORT, 'TIPC'],
  ['setsockopt', [3, 1, 2], ALLOW, 'an address that is used again'],
  ['setsockopt', [3, 6, 9], ALLOW, 'TCP_DEFER_ACCEPT, the number of SO_KEEPALIVE at another level'],
  ['setsockopt', [3, 0, 11], ENOPROTOOPT, 'a queue of errors'],
  ['setsockopt', [3, 41, 25], ENOPROTOOPT, 'a queue of errors over IPv6'],
  ['setsockopt', [3, 41, 26], ALLOW, 'IPv6 only'],
  ...[26, 50, 51, 52].map((option) => ['setsockopt', [3, 1, option], ENOPROTOOPT, 'a program as a filter'] as const),
  ...[37, 65, 60].map((option) => ['setsockopt', [3, 1, option], ENOPROTOOPT, 'notices in a queue of errors'] as const),
  ...[32, 33].map((option) => ['setsockopt', [3, 1, option], ENOPROTOOPT, 'a buffer beyond the limit'] as const),
  ...[1024, 1026, 1040].map((command) => ['fcntl', [3, command], EPERM, 'a lease, a notice, a delegation'] as const),
  ...[3, 6, 7, 37, 1030].map((command) => ['fcntl', [3, command], ALLOW, 'flags, locks, a duplicate'] as const),
  ['kill', [1, 9], EPERM, 'the supervisor'],
  ['kill', [2, 9], ALLOW, 'a process of its own'],
  ['kill', [0xffffffff, 19], ALLOW, 'everybody, as the supervisor does'],
  ['pidfd_open', [1, 0], EPERM, 'a descriptor of the supervisor'],
  ['prlimit64', [0, 7, 0x7f0012345678, 0], ALLOW, 'limits of its own'],
  ['prlimit64', [9, 7, 0x7f0012345678, 0], ALLOW, 'limits of another process of its own'],
  ['prlimit64', [1, 7, 0, 0x7f0012345678], ALLOW, 'reading the limits of the supervisor'],
  ['prlimit64', [1, 6, 0x7f0012345678, 0], EPERM, 'taking processes from the supervisor'],
  ['prlimit64', [1, 6, 0x7f0000000000, 0], EPERM, 'a pointer whose low half is zero'],
  ['prlimit64', [0, 4, 0x7f0012345678, 0], IGNORED, 'its own core dumps'],
  ['prlimit64', [9, 4 + 2 ** 32, 0x7f0000000000, 0], IGNORED, 'those of another process of its own'],
  ['prlimit64', [0, 4, 0x7f0012345678, 0x7f0000000000], EPERM, 'its own core dumps, with what it had before'],
  ['prlimit64', [0, 4, 0, 0x7f0012345678], ALLOW, 'reading the limit of core dumps'],
  ['prlimit64', [1, 4, 0x7f0012345678, 0], EPERM, 'core dumps of the supervisor'],
  ['setrlimit', [4, 0x7f0012345678], IGNORED, 'its own core dumps'],
  ['setrlimit', [7, 0x7f0012345678], ALLOW, 'its own open files'],
  ['mmap', [0, 4096, 3, 0x22], ALLOW, 'memory'],
  ['mmap', [0, 1 << 21, 3, 0x40022], ENOMEM, 'huge pages'],
  ['mmap', [0, 1 << 21, 3, 0x7c040021], ENOMEM, 'huge pages of another size'],
  ['memfd_create', [0, 3], ALLOW, 'a file in memory'],
  ['memfd_create', [0, 5], EINVAL, 'a file of huge pages'],
  ['shmget', [0, 4096, 0o1600], ALLOW, 'shared memory'],
  ['shmget', [0, 4096, 0o5600], ENOMEM, 'shared memory of huge pages'],
  ['setsockopt', [3, 1, 13], IGNORED, 'SO_LINGER'],
  ['setsockopt', [3, 6, 13], ENOPROTOOPT, 'its number at another level'],
  ['sched_setscheduler', [0, 5, 0], ALLOW, 'its own scheduling'],
  ['sched_setscheduler', [1, 5, 0], EPERM, 'that of the supervisor'],
  ['sched_setparam', [1, 0], EPERM, 'that of the supervisor'],
  ['sched_setattr', [1, 0, 0], EPERM, 'that of the supervisor'],
  ['sched_setaffinity', [1, 8, 0], EPERM, 'the processors of the supervisor'],
  ['sched_setaffinity', [0, 8, 0], ALLOW, 'its own processors'],
  ['setpriority', [0, 0, 5], ALLOW, 'nice'],
  ['setpriority', [0, 1, 19], EPERM, 'the supervisor'],
  ['setpriority', [1, 0, 5], ALLOW, 'its own group'],
  ['setpriority', [1, 1, 19], EPERM, "the supervisor's group"],
  ['setpriority', [2, 0, 19], EPERM, 'all processes of the user'],
  ['ioprio_set', [1, 0, 0], ALLOW, 'its own'],
  ['ioprio_set', [1, 1, 0], EPERM, 'the supervisor'],
  ['ioprio_set', [2, 1, 0], EPERM, "the supervisor's group"],
  ['ioprio_set', [3, 1000, 0], EPERM, 'all processes of the user'],
  ...(['chmod', 'fchmod', 'creat', 'mkdir', 'mknod'] as const).flatMap((call) => [
    ...([[call, [0, 0o755], ALLOW, 'an ordinary mode']] as const),
    ...([[call, [0, 0o1777], ALLOW, 'the sticky bit']] as const),
    ...([[call, [0, 0o4755], EPERM, 'setuid']] as const),
    ...([[call, [0, 0o2755], EPERM, 'setgid']] as const),
  ]),
  ...(['fchmodat', 'fchmodat2', 'mkdirat', 'mknodat'] as const).flatMap((call) => [
    ...([[call, [0o6000, 0, 0o755], ALLOW, 'an ordinary mode']] as const),
    ...([[call, [3, 0, 0o4755], EPERM, 'setuid']] as const),
    ...([[call, [3, 0, 0o2755], EPERM, 'setgid']] as const),
  ]),
  ['open', [0, 0x41, 0o644], ALLOW, 'a new file'],
  ['open', [0, 0x41, 0o4755], EPERM, 'a new file that is setuid'],
  ['open', [0, 0, 0o7777], ALLOW, 'nothing is made, and there is no mode'],
  ['openat', [3, 0, 0x41, 0o644], ALLOW, 'a new file'],
  ['openat', [3, 0, 0x41, 0o2755], EPERM, 'a new file that is setgid'],
  ['openat', [3, 0, 0x410002, 0o4755], EPERM, 'a file without a name that is setuid'],
  ['openat', [3, 0, 0x410002, 0o600], ALLOW, 'a file without a name'],
  ['openat', [3, 0, 0x80000, 0o7777], ALLOW, 'nothing is made, and there is no mode'],
  ...(['setxattr', 'lsetxattr', 'fsetxattr'] as const).map(
    (call) => [call, [0, 0, 0, 28, 0], EOPNOTSUPP, 'an access list'] as const,
  ),
  ['prctl', [15, 0], ALLOW, 'the name of a thread'],
  ['prctl', [22, 2, 0], EINVAL, 'a filter of its own'],
  ['prctl', [35, 14, 0], EINVAL, 'another place for its command line'],
  ['prctl', [78, 1, 1 << 21], EINVAL, 'a table for futexes'],
  ['prctl', [62, 1, 0], EINVAL, 'a processor core of its own'],
  ['preadv2', [3, 0, 1, 0, 0, 0], ALLOW, 'reading'],
  ['preadv2', [3, 0, 1, 0, 0, 8], EOPNOTSUPP, 'reading only what is in memory'],
  ['preadv2', [3, 0, 1, 0, 0, 0x9], EOPNOTSUPP, 'the same with other flags'],
  ...USUAL_OPTIONS.map(([why, ...option]) => ['setsockopt', [3, ...option], ALLOW, why] as const),
  ...HARMFUL_OPTIONS.map(([why, ...option]) => ['setsockopt', [3, ...option], ENOPROTOOPT, why] as const),
  ['ioctl', [0, 0x5401], ALLOW, 'is it a terminal'],
  ['ioctl', [0, 0x5412], EPERM, 'typing into a terminal'],
  ['ioctl', [0, 0x541c], EPERM, 'the console'],
  ['ioctl', [0, 0x5423], EPERM, 'a line discipline'],
  ['ioctl', [0, 0x5424], ALLOW, 'asking for the line discipline'],
  ...[0x8940, 0x8941, 0x8980, 0x8981, 0x8982, 0x8983, 0x89a0, 0x89a1].map(
    (command) => ['ioctl', [3, command], EPERM, 'a module for networks'] as const,
  ),
  ['ioctl', [3, 0x8912], ALLOW, 'the interfaces'],
  ['ioctl', [0, 0x401c5820], ENOTTY, 'another project id'],
  ['ioctl', [0, 0x40086602], ENOTTY, 'project ids of new files'],
  ['ioctl', [0, 0x801c581f], ALLOW, 'reading flags of a file'],
];

describe.each(ARCHITECTURES)('the filter for %s', (architecture) => {
  const program = seccompFilter(architecture);
  const number = (call: string) => NUMBERS[call]![architecture === 'x64' ? 0 : 1];
  const decide = (call: number, args: readonly number[] = []) =>
    run(program, { number: call, arch: AUDIT[architecture], args });

  test.each(DENIED.filter((call) => number(call) >= 0))('refuses %s', (call) => {
    expect(decide(number(call))).toBe(EPERM);
  });

  test.each(ABSENT)('has no %s', (call) => {
    expect(decide(number(call))).toBe(ENOSYS);
  });

  test.each(ALLOWED)('allows %s', (call) => {
    expect(decide(number(call))).toBe(ALLOW);
  });

  test('refuses calls that are newer than its rules', () => {
    for (let call = 470; call < 700; call++) expect(decide(call)).toBe(ENOSYS);
  });

  test.each(BY_ARGUMENT.filter(([call]) => number(call) >= 0))('%s(%j): %s (%s)', (call, args, decision) => {
    expect(decide(number(call), args)).toBe(decision);
  });

  test('compares the low half of an argument, as the kernel does', () => {
    expect(decide(number('ioctl'), [0, 0x5412 + 2 ** 32])).toBe(EPERM);
    expect(decide(number('socket'), [17 + 2 ** 32, 3, 0])).toBe(EAFNOSUPPORT);
  });

  test.each(Object.entries(AUDIT).filter(([name]) => name !== architecture))(
    'kills what calls in the manner of %s',
    (_name, arch) => {
      for (const call of [0, 1, number('read'), number('ptrace')]) {
        expect(run(program, { number: call, arch, args: [] })).toBe(KILL);
      }
    },
  );

  test('allows a zygote the calls that create sandboxes, and no more', () => {
    const zygote = seccompFilter(architecture, { makesSandboxes: true });
    const allowed = DENIED.filter(
      (call) =>
        number(call) >= 0 && run(zygote, { number: number(call), arch: AUDIT[architecture], args: [] }) === ALLOW,
    );
    expect(allowed).toEqual(['unshare', 'mount', 'umount2', 'pivot_root', 'sethostname']);
    const clone = { number: number('clone'), arch: AUDIT[architecture], args: [0x10000000 | SIGCHLD] };
    expect(run(zygote, clone)).toBe(ALLOW);
  });

  test('allows a sandbox with its own kernel netlink routes, and no other family', () => {
    const own = seccompFilter(architecture, { ownKernel: true });
    const differing = BY_ARGUMENT.filter(([call]) => number(call) >= 0).filter(
      ([call, args, decision]) =>
        run(own, { number: number(call), arch: AUDIT[architecture], args }) !== decision && call !== 'setsockopt',
    );
    expect(differing.map(([, , , why]) => why)).toEqual(['routes', 'netfilter', 'generic netlink']);
    const socket = (args: readonly number[]) => run(own, { number: number('socket'), arch: AUDIT[architecture], args });
    expect([socket([16, 3, 0]), socket([16, 3, 12]), socket([16, 3, 16])]).toEqual([ALLOW, EAFNOSUPPORT, EAFNOSUPPORT]);
  });

  test('is short enough for the kernel', () => {
    expect(program.length % 8).toBe(0);
    expect(program.length / 8).toBeLessThanOrEqual(4096);
  });

  test('allows a further filter only with the options for it, and the pinned filter refuses one', () => {
    const add = { number: number('prctl'), arch: AUDIT[architecture], args: [22, 2, 0] };
    for (const options of [{ makesSandboxes: true }, { addsFilters: true }]) {
      expect(run(seccompFilter(architecture, options), add)).toBe(ALLOW);
    }
    const outer = seccompFilter(architecture, { outer: true });
    for (const call of ['prctl', 'setrlimit', 'prlimit64'])
      expect(run(outer, { ...add, number: number(call), args: [call === 'prctl' ? 22 : 4, 4, 1] })).toBe(ALLOW);
    expect(run(pinnedFilter(architecture), add)).toBe(EINVAL);
    expect(run(pinnedFilter(architecture), { ...add, args: [15, 0] })).toBe(ALLOW);
  });

  test('is complemented by the pinned filter, which refuses only a change of affinity', () => {
    const second = pinnedFilter(architecture);
    const only = (call: string) => run(second, { number: number(call), arch: AUDIT[architecture], args: [] });
    expect(only('sched_setaffinity')).toBe(EPERM);
    for (const call of ['read', 'openat', 'sched_setattr', 'ptrace']) expect(only(call)).toBe(ALLOW);
  });

  test('decides every call number', () => {
    for (let call = 0; call < 600; call++) expect(decide(call)).toMatch(/^(allow|kill|errno \d+)$/);
  });
});

test('on x64, every x32 call is killed', () => {
  const program = seccompFilter('x64');
  for (const call of [0, 101, 165, 512, 547]) {
    expect(run(program, { number: 0x40000000 + call, arch: AUDIT.x64, args: [] })).toBe(KILL);
  }
});

interface Call {
  readonly number: number;
  readonly arch: number;
  readonly args: readonly number[];
}

/** A strict interpreter for the part of classic BPF that our filters use. */
function run(program: Buffer, call: Call): string {
  const data = seccompData(call);
  let accumulator = 0;
  for (let at = 0; at * 8 < program.length; at++) {
    const code = program.readUInt16LE(at * 8);
    const ifTrue = program[at * 8 + 2]!;
    const ifFalse = program[at * 8 + 3]!;
    const value = program.readUInt32LE(at * 8 + 4);
    switch (code) {
      case 0x20:
        accumulator = data.readUInt32LE(value);
        break;
      case 0x54:
        accumulator = (accumulator & value) >>> 0;
        break;
      case 0x05:
        at += value;
        break;
      case 0x15:
        at += accumulator === value ? ifTrue : ifFalse;
        break;
      case 0x35:
        at += accumulator >= value ? ifTrue : ifFalse;
        break;
      case 0x45:
        at += (accumulator & value) !== 0 ? ifTrue : ifFalse;
        break;
      case 0x06:
        return decisionOf(value);
      default:
        throw new Error(`instruction ${at}: code ${code} is not one that a filter of ours has`);
    }
  }
  throw new Error('the program ran past its end');
}

/** struct seccomp_data: number, architecture, instruction pointer, six arguments. */
function seccompData({ number, arch, args }: Call): Buffer {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(arch, 4);
  args.forEach((value, index) => {
    data.writeBigUInt64LE(BigInt(value), 16 + index * 8);
  });
  return data;
}

function decisionOf(value: number): string {
  if (value === 0x7fff0000) return ALLOW;
  if (value === 0x80000000) return KILL;
  if (value >>> 16 === 0x0005) return `errno ${value & 0xffff}`;
  throw new Error(`return value ${value.toString(16)}`);
}
