import { ALLOW, argument, highHalf, ifAnyBit, ifEqual, type Line, label, load, mask, refuse } from './bpf.ts';
import { setsAllowedOption } from './socket-options.ts';

/** Numbers of a system call on [x64, arm64]; -1 if the architecture does not have it. */
export type Numbers = readonly [x64: number, arm64: number];

/** The decision about some calls. Every path ends in a decision, and jumps only to its own labels. */
export interface Rule {
  readonly decide: readonly Line[];
  readonly calls: Readonly<Record<string, Numbers>>;
}

const EPERM = 1;
const ENOMEM = 12;
const EACCES = 13;
const EINVAL = 22;
const ENOTTY = 25;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const EOPNOTSUPP = 95;
const EAFNOSUPPORT = 97;

/** All CLONE_NEW* flags except CLONE_NEWTIME, which shares its bit with the exit signal. */
const NAMESPACE_FLAGS = 0x7e020000;
const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] = [1, 2, 10, 16] as const;
const [F_SETLEASE, F_NOTIFY, F_SETDELEG] = [1024, 1026, 1040] as const;
const [F_SETOWN, F_SETOWN_EX, FIOSETOWN, SIOCSPGRP] = [8, 15, 0x8901, 0x8902] as const;
/** The process group of the supervisor, in calls that take processes and groups. */
const SUPERVISOR_GROUP = 0xffffffff;
const [SOCK_STREAM, SOCK_DGRAM, SOCK_TYPE_MASK] = [1, 2, 0xf] as const;
const [IPPROTO_TCP, IPPROTO_UDP] = [6, 17] as const;
const [TIOCSTI, TIOCLINUX] = [0x5412, 0x541c] as const;
/**
 * SECURITY: ioctls that make the host load a kernel module, without any privilege: TIOCSETD (line disciplines), then a
 * pair each for bridges (SIOCGIFBR), Frame Relay (SIOCADDDLCI), VLANs (SIOCGIFVLAN) and bridges again (SIOCBRADDBR). A
 * loaded module stays, with its vulnerabilities. Without the right to change networks they do nothing else.
 */
export const MODULE_IOCTLS = [0x5423, 0x8940, 0x8941, 0x8980, 0x8981, 0x8982, 0x8983, 0x89a0, 0x89a1] as const;
const [PRIO_USER, IOPRIO_WHO_USER] = [2, 3] as const;
const O_CREAT_OR_TMPFILE = 0x40 | 0x400000;
const SET_ID_BITS = 0o6000;
const SUPERVISOR_PID = 1;
const RWF_NOWAIT = 8;
const [PR_SET_SECCOMP, PR_SET_MM, PR_SCHED_CORE, PR_FUTEX_HASH] = [22, 35, 62, 78] as const;
const RLIMIT_CORE = 4;
const [FS_IOC_FSSETXATTR, FS_IOC_SETFLAGS] = [0x401c5820, 0x40086602] as const;
const [MAP_HUGETLB, MFD_HUGETLB, SHM_HUGETLB] = [0x40000, 4, 0o4000] as const;
/** Returns success without executing the call. */
const IGNORED = refuse(0);

const REFUSED = [label('refuse'), refuse(EPERM), label('allow'), ALLOW] as const;

/** The newest call that was reviewed for the rules below (Linux 6.18). */
export const NEWEST_REVIEWED = 469;
export const NOT_REVIEWED = refuse(ENOSYS);

/** Rules for every kernel. Calls without a rule are allowed. */
const COMMON: readonly Rule[] = [
  {
    decide: [refuse(EPERM)],
    calls: {
      ...{ ptrace: [101, 117], process_vm_readv: [310, 270], process_vm_writev: [311, 271], pidfd_getfd: [438, 438] },
      ...{ kcmp: [312, 272], unshare: [272, 97], setns: [308, 268], mount: [165, 40], umount2: [166, 39] },
      ...{ pivot_root: [155, 41], chroot: [161, 51], mount_setattr: [442, 442], open_tree: [428, 428] },
      ...{ open_tree_attr: [467, 467], move_mount: [429, 429], fsopen: [430, 430], fsconfig: [431, 431] },
      ...{ fsmount: [432, 432], fspick: [433, 433], name_to_handle_at: [303, 264], open_by_handle_at: [304, 265] },
      ...{ bpf: [321, 280], perf_event_open: [298, 241], userfaultfd: [323, 282], keyctl: [250, 219] },
      ...{ add_key: [248, 217], request_key: [249, 218], io_uring_setup: [425, 425], io_uring_enter: [426, 426] },
      ...{ io_uring_register: [427, 427], kexec_load: [246, 104], kexec_file_load: [320, 294] },
      ...{ init_module: [175, 105], finit_module: [313, 273], delete_module: [176, 106], create_module: [174, -1] },
      ...{ query_module: [178, -1], get_kernel_syms: [177, -1], reboot: [169, 142], swapon: [167, 224] },
      ...{ swapoff: [168, 225], acct: [163, 89], quotactl: [179, 60], quotactl_fd: [443, 443], syslog: [103, 116] },
      ...{ settimeofday: [164, 170], clock_settime: [227, 112], clock_adjtime: [305, 266], adjtimex: [159, 171] },
      ...{ fanotify_init: [300, 262], fanotify_mark: [301, 263], lookup_dcookie: [212, 18], nfsservctl: [180, 42] },
      ...{ vhangup: [153, 58], iopl: [172, -1], ioperm: [173, -1], modify_ldt: [154, -1], uselib: [134, -1] },
      ...{ ustat: [136, -1], sysfs: [139, -1], _sysctl: [156, -1], personality: [135, 92], sethostname: [170, 161] },
      ...{ setdomainname: [171, 162], migrate_pages: [256, 238], move_pages: [279, 239] },
      // SECURITY: memory policies of shared memory, one per page, are kernel memory that no cgroup counts. Docker
      // refuses these calls with the same errno.
      ...{ mbind: [237, 235], set_mempolicy: [238, 237] },
      ...{ set_mempolicy_home_node: [450, 450], lsm_get_self_attr: [459, 459], lsm_set_self_attr: [460, 460] },
      ...{ lsm_list_modules: [461, 461] },
    },
  },
  {
    // ENOSYS, as on a kernel without the call; programs have a fallback.
    decide: [NOT_REVIEWED],
    calls: {
      // glibc falls back to clone, whose flags are visible to the filter; those of clone3 are behind a pointer. So is
      // the mode of openat2.
      ...{ clone3: [435, 435], openat2: [437, 437] },
      // SECURITY: its contexts are counted host-wide (fs.aio-max-nr): one sandbox could use up those of databases.
      io_setup: [206, 0],
      // SECURITY: /proc/1, opened as a folder, refers to the supervisor, which `pidfd_open` refuses.
      pidfd_send_signal: [424, 424],
      ...{ process_madvise: [440, 440], process_mrelease: [448, 448] },
      // SECURITY: while such memory exists, the host cannot hibernate.
      memfd_secret: [447, 447],
      // SECURITY: the page cache reveals which files others use; names of mounts reveal the host.
      ...{ cachestat: [451, 451], statmount: [457, 457], listmount: [458, 458] },
      ...{ file_setattr: [469, 469], setxattrat: [463, 463], seccomp: [317, 277] },
    },
  },
  {
    // SECURITY: the access list of a file in tmpfs is host memory that no limit counts, 128 kB per folder, and its name
    // is behind a pointer. The errno is that of a file system without extended attributes, as tmpfs was before Linux
    // 6.6.
    decide: [refuse(EOPNOTSUPP)],
    calls: { setxattr: [188, 5], lsetxattr: [189, 6], fsetxattr: [190, 7] },
  },
  {
    // SECURITY: RWF_NOWAIT reveals the page cache, as `cachestat` does. `mincore` reveals it only for the program's own
    // files.
    decide: [
      load(argument(5)),
      ifAnyBit(RWF_NOWAIT, undefined, 'allow'),
      ...[refuse(EOPNOTSUPP), label('allow'), ALLOW],
    ],
    calls: { preadv2: [327, 286] },
  },
  {
    // SECURITY: filters are compiled into memory of which the whole host has one pool: four sandboxes could use it up,
    // and no process could load a filter any more. The futex hash table of a process (PR_FUTEX_HASH) is kernel memory
    // whose size the process chooses. Core scheduling (PR_SCHED_CORE) keeps other processes off the sibling thread of a
    // core. All fail as on a kernel without them.
    decide: [
      load(argument(0)),
      ifEqual(PR_SET_SECCOMP, 'absent'),
      ifEqual(PR_SCHED_CORE, 'absent'),
      // SECURITY: PR_SET_MM could make the command line, which tools of the host read, arbitrarily long.
      ifEqual(PR_SET_MM, 'absent'),
      ifEqual(PR_FUTEX_HASH, 'absent', 'allow'),
      ...[label('absent'), refuse(EINVAL), label('allow'), ALLOW],
    ],
    calls: { prctl: [157, 167] },
  },
  {
    decide: [load(argument(0)), ifAnyBit(NAMESPACE_FLAGS, 'refuse', 'allow'), ...REFUSED],
    calls: { clone: [56, 220] },
  },
  {
    // Linux protects pid 1 of a namespace from signals of its own processes; gVisor does not. Neither protects its
    // scheduling.
    decide: [load(argument(0)), ifEqual(SUPERVISOR_PID, 'refuse', 'allow'), ...REFUSED],
    calls: {
      ...{ kill: [62, 129], tkill: [200, 130], tgkill: [234, 131], rt_sigqueueinfo: [129, 138] },
      ...{ rt_tgsigqueueinfo: [297, 240], pidfd_open: [434, 434], sched_setparam: [142, 118] },
      ...{ sched_setscheduler: [144, 119], sched_setattr: [314, 274], sched_setaffinity: [203, 122] },
    },
  },
  {
    // SECURITY: a supervisor whose process or descriptor limit is lowered cannot start kernels any more. Reading its
    // limits is harmless.
    decide: [
      ...[load(argument(2)), ifEqual(0, undefined, 'sets'), load(highHalf(2)), ifEqual(0, 'allow', 'sets')],
      ...[label('sets'), load(argument(0)), ifEqual(SUPERVISOR_PID, 'refuse')],
      ...[load(argument(1)), ifEqual(RLIMIT_CORE, undefined, 'allow')],
      // The previous limit would be written behind a pointer, which a filter cannot do.
      ...[load(argument(3)), ifEqual(0, undefined, 'refuse'), load(highHalf(3)), ifEqual(0, undefined, 'refuse')],
      IGNORED,
      ...REFUSED,
    ],
    calls: { prlimit64: [302, 261] },
  },
  {
    // SECURITY: with a limit of 0, a crash still starts the host's core dump program (`core_pattern` with a pipe), as
    // root and with the memory of the sandbox as its input. Only 1, which the guest sets, prevents that. Programs that
    // turn dumps off get success without the call.
    decide: [load(argument(0)), ifEqual(RLIMIT_CORE, undefined, 'allow'), IGNORED, label('allow'), ALLOW],
    calls: { setrlimit: [160, 164] },
  },
  // SECURITY: huge pages that the host has reserved are not counted by any memory limit. The errno is that of a host
  // without huge pages; programs then use small ones.
  { decide: withoutFlag(3, MAP_HUGETLB, ENOMEM), calls: { mmap: [9, 222] } },
  { decide: withoutFlag(2, SHM_HUGETLB, ENOMEM), calls: { shmget: [29, 194] } },
  { decide: withoutFlag(1, MFD_HUGETLB, EINVAL), calls: { memfd_create: [319, 279] } },
  { decide: aimedAtSupervisor(PRIO_USER), calls: { setpriority: [141, 140] } },
  { decide: aimedAtSupervisor(IOPRIO_WHO_USER), calls: { ioprio_set: [251, 30] } },
  // SECURITY: in a host folder that is mounted writable, a setuid file would be a program that any user of the host
  // could run as its owner.
  {
    decide: setsId(1),
    calls: { chmod: [90, -1], fchmod: [91, 52], creat: [85, -1], mkdir: [83, -1], mknod: [133, -1] },
  },
  {
    decide: setsId(2),
    calls: { fchmodat: [268, 53], fchmodat2: [452, 452], mkdirat: [258, 34], mknodat: [259, 33] },
  },
  { decide: createsWithId(1), calls: { open: [2, -1] } },
  { decide: createsWithId(2), calls: { openat: [257, 56] } },
  {
    // SECURITY: TIOCSTI and TIOCLINUX inject input into a terminal. The owner of a descriptor gets signals from it (see
    // fcntl below); in FIOSETOWN and SIOCSPGRP it is behind a pointer.
    decide: [
      load(argument(1)),
      ifEqual(TIOCSTI, 'refuse'),
      ifEqual(FIOSETOWN, 'refuse'),
      ifEqual(SIOCSPGRP, 'refuse'),
      ifEqual(TIOCLINUX, 'refuse'),
      ...MODULE_IOCTLS.map((command) => ifEqual(command, 'refuse')),
      // SECURITY: the owner of a file could change its project id and so leave the quota of a mounted folder. The errno
      // is that of a file system without flags.
      ifEqual(FS_IOC_FSSETXATTR, 'absent'),
      ifEqual(FS_IOC_SETFLAGS, 'absent', 'allow'),
      ...[label('absent'), refuse(ENOTTY)],
      ...REFUSED,
    ],
    calls: { ioctl: [16, 29] },
  },
  {
    // SECURITY: opening a file with a lease waits for its holder for up to 45 seconds. A sandbox could block programs
    // of the host, and other sessions with the same mount.
    decide: [
      load(argument(1)),
      ifEqual(F_SETLEASE, 'refuse'),
      ifEqual(F_SETDELEG, 'refuse'),
      ifEqual(F_NOTIFY, 'refuse'),
      // SECURITY: when data arrives, the owner of a descriptor gets any signal that its holder chose. gVisor does not
      // protect the supervisor from one that stops it.
      ifEqual(F_SETOWN_EX, 'refuse'),
      ifEqual(F_SETOWN, undefined, 'allow'),
      load(argument(2)),
      ifEqual(SUPERVISOR_PID, 'refuse'),
      ifEqual(SUPERVISOR_GROUP, 'refuse', 'allow'),
      ...REFUSED,
    ],
    calls: { fcntl: [72, 25] },
  },
  {
    decide: [load(argument(0)), ifEqual(AF_UNIX, undefined, 'family'), ALLOW, label('family'), refuse(EAFNOSUPPORT)],
    calls: { socketpair: [53, 199] },
  },
];

/**
 * SECURITY: unread netlink replies are kernel memory that no cgroup counts: a gigabyte beside a limit of 128 MB. So
 * routes are refused, too. Android refuses netlink with this errno, so programs that cope with it there do here;
 * getaddrinfo and Java work without.
 */
const NO_NETLINK = [refuse(EACCES)] as const;
/**
 * Allows netlink routes, otherwise getifaddrs fails; the other families are a large part of a kernel's attack surface.
 */
const ROUTES = [load(argument(2)), ifEqual(0, undefined, 'family'), ALLOW] as const;

const SOCKET_OPTIONS: Rule = { decide: setsAllowedOption(), calls: { setsockopt: [54, 208] } };

/** Rules for the host's kernel. */
export const RULES: readonly Rule[] = [...COMMON, socketsWith(NO_NETLINK), SOCKET_OPTIONS];
/** Rules for a kernel of the sandbox's own, whose memory counts as the sandbox's. */
export const OWN_KERNEL_RULES: readonly Rule[] = [...COMMON, socketsWith(ROUTES)];

function socketsWith(netlink: readonly Line[]): Rule {
  return {
    decide: [
      load(argument(0)),
      ifEqual(AF_UNIX, 'allow'),
      ifEqual(AF_NETLINK, 'netlink'),
      ifEqual(AF_INET, 'internet'),
      ifEqual(AF_INET6, 'internet', 'family'),
      // Only TCP and UDP: MPTCP, SCTP and others are a large part of the kernel's attack surface, and some are modules
      // loaded on first use.
      label('internet'),
      load(argument(1)),
      mask(SOCK_TYPE_MASK),
      ifEqual(SOCK_STREAM, 'protocol'),
      ifEqual(SOCK_DGRAM, 'protocol', 'other'),
      label('protocol'),
      load(argument(2)),
      ifEqual(0, 'allow'),
      ifEqual(IPPROTO_TCP, 'allow'),
      ifEqual(IPPROTO_UDP, 'allow', 'other'),
      label('netlink'),
      ...netlink,
      label('allow'),
      ALLOW,
      label('other'),
      refuse(EPROTONOSUPPORT),
      label('family'),
      refuse(EAFNOSUPPORT),
    ],
    calls: { socket: [41, 198] },
  };
}

/**
 * Refuses calls with (which, who) that target the supervisor: as a process, as a group, or among all processes of a
 * user.
 */
function aimedAtSupervisor(user: number): readonly Line[] {
  return [
    ...[load(argument(0)), ifEqual(user, 'refuse')],
    ...[load(argument(1)), ifEqual(SUPERVISOR_PID, 'refuse', 'allow')],
    ...REFUSED,
  ];
}

function withoutFlag(flags: number, flag: number, errno: number): readonly Line[] {
  return [load(argument(flags)), ifAnyBit(flag, undefined, 'allow'), refuse(errno), label('allow'), ALLOW];
}

function setsId(mode: number): readonly Line[] {
  return [load(argument(mode)), ifAnyBit(SET_ID_BITS, 'refuse', 'allow'), ...REFUSED];
}

/** `open` has a mode only if it creates a file. */
function createsWithId(flags: number): readonly Line[] {
  return [load(argument(flags)), ifAnyBit(O_CREAT_OR_TMPFILE, undefined, 'allow'), ...setsId(flags + 1)];
}
