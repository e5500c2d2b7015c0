/**
 * The inner system call filter: a classic BPF program, made here for the sandbox's architecture and installed by the guest with `prctl`.
 * It stands behind the driver's own barriers, so it denies what a sandbox never needs and allows the rest.
 */

export type Architecture = 'x64' | 'arm64';

const AUDIT_ARCH: Record<Architecture, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };
const X32_BIT = 0x40000000;

/** Refused with EPERM: [x64, arm64] numbers, -1 where the architecture has no such call. */
const DENIED: Record<string, readonly [x64: number, arm64: number]> = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  mount_setattr: [442, 442],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  fanotify_init: [300, 262],
  lookup_dcookie: [212, 18],
  nfsservctl: [180, 42],
  vhangup: [153, 58],
  iopl: [172, -1],
  ioperm: [173, -1],
  uselib: [134, -1],
  personality: [135, 92],
};

const SPECIAL: Record<'clone' | 'clone3' | 'socket' | 'ioctl', readonly [number, number]> = {
  clone: [56, 220],
  clone3: [435, 435],
  socket: [41, 198],
  ioctl: [16, 29],
};

/**
 * Calls that send a signal to the process of their first argument. Linux protects the pid 1 of a namespace from its own processes by itself;
 * gVisor does not, and pid 1 is the supervisor.
 */
const SIGNALLING: readonly (readonly [x64: number, arm64: number])[] = [
  [62, 129], // kill
  [200, 130], // tkill
  [234, 131], // tgkill
  [129, 138], // rt_sigqueueinfo
  [297, 240], // rt_tgsigqueueinfo
  [434, 434], // pidfd_open
];

/** CLONE_NEW* but CLONE_NEWTIME, which shares its bit with the exit signal. */
const NAMESPACE_FLAGS = 0x7e020000;
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const SUPERVISOR_PID = 1;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

export interface FilterOptions {
  /** For a zygote, which needs the few calls that a sandbox is made with. What it forks takes the whole filter on top. */
  readonly makesSandboxes?: boolean;
}

const MAKING_SANDBOXES = ['unshare', 'mount', 'umount2', 'pivot_root'];

/** The program for one architecture: 8 bytes an instruction. */
export function seccompFilter(architecture: Architecture, { makesSandboxes = false }: FilterOptions = {}): Buffer {
  const number = (pair: readonly [number, number]) => pair[architecture === 'x64' ? 0 : 1];
  const program = [
    load(ARCH_OFFSET),
    jumpIfEqual(AUDIT_ARCH[architecture], 1, 0),
    KILL,
    load(NUMBER_OFFSET),
    // x32 calls have numbers of their own, which would pass by the rules below.
    ...(architecture === 'x64' ? [jumpIfAtLeast(X32_BIT, 0, 1), KILL] : []),
  ];
  const denied = Object.entries(DENIED)
    .filter(([name]) => !makesSandboxes || !MAKING_SANDBOXES.includes(name))
    .map(([, pair]) => number(pair))
    .filter((call) => call >= 0);
  program.push(
    // Each jumps over those after it: one refusal for all, because every sandbox waits until the kernel has looked through the whole program.
    ...denied.map((call, index) => jumpIfEqual(call, denied.length - index, 0)),
    jump(1),
    refuse(EPERM),
    // glibc falls back to clone, whose flags can be seen here; those of clone3 lie behind a pointer.
    jumpIfEqual(number(SPECIAL.clone3), 0, 1),
    refuse(ENOSYS),
    ...(makesSandboxes
      ? []
      : guarded(number(SPECIAL.clone), [loadArgument(0), jumpIfAnyBit(NAMESPACE_FLAGS, 0, 1), refuse(EPERM), ALLOW])),
    ...SIGNALLING.flatMap((pair) =>
      guarded(number(pair), [loadArgument(0), jumpIfEqual(SUPERVISOR_PID, 0, 1), refuse(EPERM), ALLOW]),
    ),
    // Terminal injection: a sandbox has no terminal of ours, and keeps it so.
    ...guarded(number(SPECIAL.ioctl), [
      loadArgument(1),
      jumpIfEqual(TIOCSTI, 1, 0),
      jumpIfEqual(TIOCLINUX, 0, 1),
      refuse(EPERM),
      ALLOW,
    ]),
    ...guarded(number(SPECIAL.socket), [
      loadArgument(0),
      jumpIfEqual(AF_UNIX, 5, 0),
      jumpIfEqual(AF_INET, 4, 0),
      jumpIfEqual(AF_INET6, 3, 0),
      jumpIfEqual(AF_NETLINK, 0, 3),
      // Routes only, or getifaddrs breaks; the other netlink families are a large part of the kernel's surface.
      loadArgument(2),
      jumpIfEqual(0, 0, 1),
      ALLOW,
      refuse(EAFNOSUPPORT),
    ]),
    ALLOW,
  );
  return Buffer.concat(program);
}

const NUMBER_OFFSET = 0;
const ARCH_OFFSET = 4;
const ARGUMENTS_OFFSET = 16;

function instruction(code: number, ifTrue: number, ifFalse: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes[2] = ifTrue;
  bytes[3] = ifFalse;
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}

const load = (offset: number) => instruction(0x20, 0, 0, offset);
/** The low half of an argument: flags and families fit in it, and the kernel looks at no more. */
const loadArgument = (index: number) => load(ARGUMENTS_OFFSET + index * 8);
const jump = (over: number) => instruction(0x05, 0, 0, over);
const jumpIfEqual = (value: number, ifTrue: number, ifFalse: number) => instruction(0x15, ifTrue, ifFalse, value);
const jumpIfAtLeast = (value: number, ifTrue: number, ifFalse: number) => instruction(0x35, ifTrue, ifFalse, value);
const jumpIfAnyBit = (bits: number, ifTrue: number, ifFalse: number) => instruction(0x45, ifTrue, ifFalse, bits);
const refuse = (errno: number) => instruction(0x06, 0, 0, 0x00050000 | errno);
const ALLOW = instruction(0x06, 0, 0, 0x7fff0000);
const KILL = instruction(0x06, 0, 0, 0x80000000);

/** A block for one call. The accumulator holds the call's number before and, for every other call, after. */
function guarded(number: number, block: Buffer[]): Buffer[] {
  return [jumpIfEqual(number, 0, block.length), ...block];
}
