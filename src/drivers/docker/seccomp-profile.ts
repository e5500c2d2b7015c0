import { IGNORED_OPTION, SETTABLE_OPTIONS } from '../../sandbox/socket-options.ts';
import { MODULE_IOCTLS, NOT_REVIEWED, RULES } from '../../sandbox/system-calls.ts';

/**
 * The system call filter as a profile for the engine, which installs it before the image's first instruction. The
 * guest's own filter is installed by the image's Python, and a hostile image would leave it out. This one is an
 * allowlist, as tight as the engine's default profile that it replaces, and refuses what our rules refuse
 * (`system-calls.ts`). The guest's filter is added to it: it protects the supervisor, handles terminals and filters of
 * programs, and returns the errors that programs expect.
 */
export function seccompProfile(): SeccompProfile {
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    // SECURITY: no second architecture. Calls by the i386 or x32 ABI have other numbers and arguments; the process is
    // killed.
    archMap: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_AARCH64'].map((architecture) => ({ architecture, subArchitectures: [] })),
    syscalls: [
      { names: ALLOWED, action: 'SCMP_ACT_ALLOW' },
      { names: absent(), action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
      { ...lingering(), action: 'SCMP_ACT_ERRNO', errnoRet: 0 },
      ...[
        ...[...clones(), ...setsNoId(), ...sockets(), ...files(), ...socketOptions()],
        ...[...hugePages(), ...coreLimits(), ...ioctls(), ...prctls()],
      ].map((rule) => ({ ...rule, action: 'SCMP_ACT_ALLOW' as const })),
    ],
  };
}

export interface SeccompProfile {
  readonly defaultAction: 'SCMP_ACT_ERRNO';
  readonly archMap: readonly { architecture: string; subArchitectures: readonly string[] }[];
  /** Conditions of one entry are combined by AND; entries about the same call by OR. */
  readonly syscalls: readonly (Conditional & { action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO'; errnoRet?: number })[];
}

interface Conditional {
  readonly names: readonly string[];
  readonly args?: readonly Condition[];
}

type Condition = MaskedCondition | { readonly index: number; readonly op: 'SCMP_CMP_EQ'; readonly value: number };

/** `value` is the mask, `valueTwo` the expected value of the masked argument. */
interface MaskedCondition {
  readonly index: number;
  readonly op: 'SCMP_CMP_MASKED_EQ';
  readonly value: number;
  readonly valueTwo: number;
}

const ENOSYS = 38;
const NAMESPACE_FLAGS = 0x7e020000;
const SET_ID_BITS = 0o6000;
const O_CREAT_OR_TMPFILE = 0x400040;
const [AF_UNIX, AF_INET, AF_INET6] = [1, 2, 10] as const;
const SOCK_TYPE_MASK = 0xf;
const RWF_NOWAIT = 8;
const RLIMIT_CORE = 4;
const PR_SET_MM = 35;
const [FS_IOC_FSSETXATTR, FS_IOC_SETFLAGS] = [0x401c5820, 0x40086602] as const;
const [MAP_HUGETLB, MFD_HUGETLB, SHM_HUGETLB] = [0x40000, 4, 0o4000] as const;
/**
 * The kernel reads the low 32 bits of an int. SECURITY: a program could evade a comparison of the whole register by
 * setting the high bits.
 */
const LOW_HALF = 0xffffffff;

function argument(index: number, value: number, mask = LOW_HALF): Condition {
  return { index, op: 'SCMP_CMP_MASKED_EQ', value: mask, valueTwo: value };
}

/**
 * Conditions of which one holds if the low half of an argument is none of `values`: the bit prefixes that none of them
 * has.
 */
function noneOf(index: number, values: readonly number[]): Condition[] {
  const prefixes = (bit: number, prefix: number): Condition[] => {
    const mask = (LOW_HALF << bit) >>> 0;
    if (!values.some((value) => (value & mask) >>> 0 === prefix)) return [argument(index, prefix, mask)];
    if (bit === 0) return [];
    return [...prefixes(bit - 1, prefix), ...prefixes(bit - 1, (prefix | (1 << (bit - 1))) >>> 0)];
  };
  return [...prefixes(31, 0), ...prefixes(31, 0x80000000)];
}

/** Calls that return ENOSYS in sandboxes, as on a kernel that does not have them. */
function absent(): string[] {
  return RULES.filter(({ decide }) => decide[0] === NOT_REVIEWED).flatMap(({ calls }) => Object.keys(calls));
}

function clones(): Conditional[] {
  return [{ names: ['clone'], args: [argument(0, 0, NAMESPACE_FLAGS)] }];
}

function setsNoId(): Conditional[] {
  return [
    { names: ['chmod', 'fchmod', 'creat', 'mkdir', 'mknod'], args: [argument(1, 0, SET_ID_BITS)] },
    { names: ['fchmodat', 'fchmodat2', 'mkdirat', 'mknodat'], args: [argument(2, 0, SET_ID_BITS)] },
    { names: ['open'], args: [argument(1, 0, O_CREAT_OR_TMPFILE)] },
    { names: ['open'], args: [argument(2, 0, SET_ID_BITS)] },
    { names: ['openat'], args: [argument(2, 0, O_CREAT_OR_TMPFILE)] },
    { names: ['openat'], args: [argument(3, 0, SET_ID_BITS)] },
  ];
}

/** Unix sockets, and TCP and UDP over the loopback. */
function sockets(): Conditional[] {
  const internet = [AF_INET, AF_INET6].flatMap((family) =>
    [1, 2].flatMap((type) =>
      [0, 6, 17].map((protocol) => [argument(0, family), argument(1, type, SOCK_TYPE_MASK), argument(2, protocol)]),
    ),
  );
  return [
    { names: ['socket', 'socketpair'], args: [argument(0, AF_UNIX)] },
    ...internet.map((args) => ({ names: ['socket'], args })),
  ];
}

/**
 * Excludes leases and directory notifications (F_SETLEASE 1024, F_NOTIFY 1026, F_SETDELEG 1040), and RWF_NOWAIT, which
 * reveals what is in the page cache.
 */
function files(): Conditional[] {
  // Commands of POSIX and their relatives, below 64; F_GETLEASE; F_DUPFD_CLOEXEC and the size of pipes; seals and hints.
  const commands = [
    argument(1, 0, 0xffffffc0),
    argument(1, 1025),
    argument(1, 1030, 0xfffffffe),
    argument(1, 1032, 0xfffffff8),
  ];
  return [
    ...commands.map((command) => ({ names: ['fcntl'], args: [command] })),
    { names: ['preadv2'], args: [argument(5, 0, RWF_NOWAIT)] },
  ];
}

function socketOptions(): Conditional[] {
  return Object.entries(SETTABLE_OPTIONS).flatMap(([level, options]) =>
    Object.values(options).map((option) => ({
      names: ['setsockopt'],
      args: [argument(1, Number(level)), argument(2, option)],
    })),
  );
}

function lingering(): Conditional {
  return { names: ['setsockopt'], args: [argument(1, IGNORED_OPTION.level), argument(2, IGNORED_OPTION.option)] };
}

function hugePages(): Conditional[] {
  return [
    { names: ['mmap'], args: [argument(3, 0, MAP_HUGETLB)] },
    { names: ['memfd_create'], args: [argument(1, 0, MFD_HUGETLB)] },
    { names: ['shmget'], args: [argument(2, 0, SHM_HUGETLB)] },
  ];
}

/** The guest installs its filter by this call. The address of a program's command line cannot be changed. */
function prctls(): Conditional[] {
  return noneOf(0, [PR_SET_MM]).map((option) => ({ names: ['prctl'], args: [option] }));
}

/**
 * The engine sets the core dump limit, and nothing inside can change it. It can be read: the pointer to a new limit is
 * null.
 */
function coreLimits(): Conditional[] {
  return [
    ...noneOf(0, [RLIMIT_CORE]).map((resource) => ({ names: ['setrlimit'], args: [resource] })),
    ...noneOf(1, [RLIMIT_CORE]).map((resource) => ({ names: ['prlimit64'], args: [resource] })),
    { names: ['prlimit64'], args: [{ index: 2, op: 'SCMP_CMP_EQ', value: 0 }] },
  ];
}

function ioctls(): Conditional[] {
  const refused = [FS_IOC_FSSETXATTR, FS_IOC_SETFLAGS, ...MODULE_IOCTLS];
  return noneOf(1, refused).map((command) => ({ names: ['ioctl'], args: [command] }));
}

/** Calls that are allowed with any arguments, grouped by topic. */
const ALLOWED: readonly string[] = `
  access faccessat faccessat2 chdir fchdir getcwd chown fchown lchown fchownat close close_range copy_file_range dup dup2 dup3 flock umask
  fadvise64 fallocate fdatasync fsync sync syncfs sync_file_range ftruncate truncate getdents getdents64 link linkat lseek stat lstat fstat newfstatat
  statx statfs fstatfs read readv pread64 preadv write writev pwrite64 pwritev pwritev2 readahead readlink readlinkat rename renameat renameat2
  rmdir symlink symlinkat unlink unlinkat utime utimes utimensat futimesat sendfile splice tee vmsplice
  getxattr lgetxattr fgetxattr getxattrat listxattr llistxattr flistxattr listxattrat
  removexattr lremovexattr fremovexattr removexattrat inotify_init inotify_init1 inotify_add_watch inotify_rm_watch

  poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_wait epoll_wait_old epoll_pwait epoll_pwait2
  eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime pipe pipe2

  brk munmap mremap mprotect madvise mincore mlock mlock2 mlockall munlock munlockall msync membarrier remap_file_pages
  map_shadow_stack mseal

  fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill pidfd_open pause alarm getitimer setitimer restart_syscall
  rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sigaltstack
  getpid getppid gettid getpgid getpgrp getsid setpgid setsid arch_prctl getrlimit getrusage times
  set_tid_address set_robust_list get_robust_list rseq futex futex_waitv futex_wait futex_wake futex_requeue get_thread_area set_thread_area
  sched_getaffinity sched_setaffinity sched_getattr sched_setattr sched_getparam sched_setparam sched_getscheduler sched_setscheduler
  sched_get_priority_max sched_get_priority_min sched_rr_get_interval sched_yield getcpu getpriority setpriority ioprio_get ioprio_set

  getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups
  capget capset landlock_create_ruleset landlock_add_rule landlock_restrict_self

  clock_getres clock_gettime clock_nanosleep nanosleep gettimeofday time
  timer_create timer_delete timer_getoverrun timer_gettime timer_settime getrandom uname sysinfo

  shmat shmctl shmdt semctl semget semop semtimedop msgctl msgget msgrcv msgsnd
  mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink

  accept accept4 bind connect listen getsockname getpeername getsockopt recvfrom recvmmsg recvmsg sendto sendmmsg sendmsg shutdown
`
  .trim()
  .split(/\s+/);
