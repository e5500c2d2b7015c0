import { describe, expect, it } from 'vitest';
import { RULES } from '../../sandbox/system-calls.ts';
import { seccompProfile } from './seccomp-profile.ts';

const { syscalls, ...profile } = seccompProfile();

/**
 * Rules that protect the supervisor, and that only the guest's filter has: in a hostile image the supervisor is hostile
 * itself.
 */
const LEFT_TO_THE_GUEST = [
  ...['kill', 'tkill', 'tgkill', 'rt_sigqueueinfo', 'rt_tgsigqueueinfo', 'pidfd_open', 'setpriority', 'ioprio_set'],
  ...['sched_setparam', 'sched_setscheduler', 'sched_setattr', 'sched_setaffinity'],
];

/** Evaluates a profile as runc does: the first entry whose conditions all hold, else the default. */
function decide(call: string, args: readonly number[] = []): string {
  const entry = syscalls.find(
    ({ names, args: conditions = [] }) =>
      names.includes(call) &&
      conditions.every((condition) => {
        const [given, value] = [BigInt(args[condition.index] ?? 0), BigInt(condition.value)];
        return condition.op === 'SCMP_CMP_EQ' ? given === value : (given & value) === BigInt(condition.valueTwo);
      }),
  );
  if (entry?.action === 'SCMP_ACT_ALLOW') return 'allow';
  return `errno ${entry?.errnoRet ?? 1}`;
}

describe('the profile for the engine', () => {
  it('refuses calls that it does not name, and other architectures', () => {
    expect(profile).toEqual({
      defaultAction: 'SCMP_ACT_ERRNO',
      archMap: [
        { architecture: 'SCMP_ARCH_X86_64', subArchitectures: [] },
        { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: [] },
      ],
    });
    expect(decide('some_call_of_the_future')).toBe('errno 1');
  });

  it("refuses every call that the guest's filter refuses whatever its arguments are", () => {
    const refused = RULES.filter(({ decide: lines }) => lines.length === 1).flatMap(({ calls }) => Object.keys(calls));
    expect(refused.length).toBeGreaterThan(60);
    for (const call of refused) expect(decide(call), call).toMatch(/^errno/);
    for (const call of ['clone3', 'openat2', 'io_setup']) expect(decide(call)).toBe('errno 38');
  });

  it("has a condition for every other call that the guest's filter checks, except those left to it", () => {
    const always = new Set(syscalls.filter(({ args }) => args === undefined).flatMap(({ names }) => names));
    const conditional = RULES.filter(({ decide: lines }) => lines.length > 1).flatMap(({ calls }) =>
      Object.keys(calls),
    );
    expect(conditional.filter((call) => always.has(call)).sort()).toEqual([...LEFT_TO_THE_GUEST].sort());
  });

  it('never has two alternative conditions on one argument: runc accepts a call if any of them holds', () => {
    for (const { args = [] } of syscalls) expect(new Set(args.map(({ index }) => index)).size).toBe(args.length);
  });

  it.each([
    ['clone', [17], 'allow'],
    ['clone', [0x10000000 | 17], 'errno 1'],
    ['socket', [1, 1, 0], 'allow'],
    ['socket', [2, 0x80801, 6], 'allow'],
    ['socket', [10, 2, 0], 'allow'],
    ['socket', [16, 3, 0], 'errno 1'],
    ['socket', [16, 3, 12], 'errno 1'],
    ['socket', [2, 1, 262], 'errno 1'],
    ['socket', [2, 3, 1], 'errno 1'],
    ['socket', [17, 3, 0], 'errno 1'],
    ['socket', [38, 5, 0], 'errno 1'],
    ['socket', [40, 1, 0], 'errno 1'],
    ['socket', [40 + 2 ** 32, 1, 0], 'errno 1'],
    ['socket', [1 + 2 ** 32, 1, 0], 'allow'],
    ['socketpair', [1, 1, 0], 'allow'],
    ['socketpair', [40, 1, 0], 'errno 1'],
    ['chmod', [0, 0o1777], 'allow'],
    ['chmod', [0, 0o4755], 'errno 1'],
    ['fchmod', [0, 0o2755], 'errno 1'],
    ['mknod', [0, 0o6644], 'errno 1'],
    ['fchmodat', [3, 0, 0o755], 'allow'],
    ['fchmodat2', [3, 0, 0o4755], 'errno 1'],
    ['open', [0, 0x41, 0o644], 'allow'],
    ['open', [0, 0x41, 0o4755], 'errno 1'],
    ['open', [0, 0, 0o7777], 'allow'],
    ['openat', [3, 0, 0x410002, 0o4755], 'errno 1'],
    ['openat', [3, 0, 0x80000, 0o7777], 'allow'],
    ...[0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1025, 1030, 1031, 1032, 1033, 1034].map(
      (command) => ['fcntl', [0, command], 'allow'] as const,
    ),
    ...[1024, 1026, 1040, 1024 + 2 ** 32].map((command) => ['fcntl', [0, command], 'errno 1'] as const),
    ['preadv2', [0, 0, 0, 0, 0, 1], 'allow'],
    ['preadv2', [0, 0, 0, 0, 0, 9], 'errno 1'],
    ['setsockopt', [0, 1, 2], 'allow'],
    ['setsockopt', [0, 6, 1], 'allow'],
    ['setsockopt', [0, 1, 26], 'errno 1'],
    ['setsockopt', [0, 41, 32], 'errno 1'],
    ['setsockopt', [0, 1, 13], 'errno 0'],
    ['setsockopt', [0, 6, 13], 'errno 1'],
    ['mbind', [], 'errno 1'],
    ['set_mempolicy', [], 'errno 1'],
    ['mmap', [0, 4096, 3, 0x22], 'allow'],
    ['mmap', [0, 1 << 21, 3, 0x40022], 'errno 1'],
    ['memfd_create', [0, 3], 'allow'],
    ['memfd_create', [0, 4], 'errno 1'],
    ['shmget', [0, 4096, 0o1600], 'allow'],
    ['shmget', [0, 4096, 0o5600], 'errno 1'],
    ...[0, 1, 3, 5, 7, 15, 16, 2 ** 31].map((resource) => ['setrlimit', [resource, 9], 'allow'] as const),
    ['setrlimit', [4, 9], 'errno 1'],
    ['setrlimit', [4 + 2 ** 32, 9], 'errno 1'],
    ['prlimit64', [0, 7, 9, 0], 'allow'],
    ['prlimit64', [0, 4, 0, 9], 'allow'],
    ['prlimit64', [0, 4, 9, 0], 'errno 1'],
    ['prlimit64', [0, 4, 2 ** 40, 0], 'errno 1'],
    ...[0x5401, 0x5421, 0x5424, 0x8912, 0x8942, 0x89a2, 0x801c581f, 0x80086601, 0x40086603, 0xffffffff, 0].map(
      (command) => ['ioctl', [0, command], 'allow'] as const,
    ),
    ...[0x401c5820, 0x401c5820 + 2 ** 32, 0x40086602].map((command) => ['ioctl', [0, command], 'errno 1'] as const),
    ...[0x5423, 0x8940, 0x8941, 0x8980, 0x8981, 0x8982, 0x8983, 0x89a0, 0x89a1].map(
      (command) => ['ioctl', [0, command], 'errno 1'] as const,
    ),
    ...[15, 22, 38, 4, 34, 36].map((option) => ['prctl', [option], 'allow'] as const),
    ...[35, 35 + 2 ** 32].map((option) => ['prctl', [option, 14], 'errno 1'] as const),
    ['execve', [], 'allow'],
  ] as const)('%s(%j): %s', (call, args, decision) => {
    expect(decide(call, args)).toBe(decision);
  });
});
