import { expect } from 'vitest';
import type { Limits } from '../../../src/sandbox/spec.ts';
import { TARGETS } from '../../support/targets.ts';
import { type Context, type Exemptions, type Requirement, stdoutOf } from '../context.ts';

/**
 * Something that Linux counts for a uid. `exhaust` is Python that uses up all of it and keeps it, and prints `used up` where the kernel refused more;
 * `need` prints `works` where a program gets what it usually does.
 */
interface Counter {
  readonly id: string;
  readonly title: string;
  readonly exhaust: string;
  readonly need: string;
  /** Of the session that uses it up. */
  readonly limits?: Partial<Limits>;
  /** False where hosts with much memory allow more than a test can use. */
  readonly alwaysUsedUp?: boolean;
}

const PRELUDE = `import ctypes, fcntl, os, resource, select, signal, time
libc = ctypes.CDLL(None, use_errno=True)
def system_limit(path, otherwise):
    try: return int(open(path).read())
    except OSError: return otherwise
kept = []
`;

const COUNTERS: readonly Counter[] = [
  {
    id: 'neighbour:inotify',
    title: 'watchers of files that a session holds leave those of its neighbours alone',
    exhaust: `state = "all got"
for _ in range(min(system_limit("/proc/sys/fs/inotify/max_user_instances", 128), 1000) + 1):
    if libc.inotify_init() < 0: state = "used up"; break
print(state)`,
    need: 'fd = libc.inotify_init(); print("works" if fd >= 0 and libc.inotify_add_watch(fd, b"/tmp", 2) >= 0 else "refused")',
  },
  {
    id: 'neighbour:pipes',
    title: 'pipes that a session fills with pages leave those of its neighbours their size',
    exhaust: `F_SETPIPE_SZ, F_GETPIPE_SZ = 1031, 1032
for size in (1048576, 65536):
    state = "all got"
    for _ in range(200):
        kept.append(os.pipe())
        try:
            if size > 65536: fcntl.fcntl(kept[-1][0], F_SETPIPE_SZ, size)
            if fcntl.fcntl(kept[-1][0], F_GETPIPE_SZ) < size: state = "used up"; break
        except OSError: break
print(state)`,
    need: 'ends = os.pipe(); size = fcntl.fcntl(ends[0], 1032); os.close(ends[0]); os.close(ends[1]); print("works" if size >= 65536 else "refused")',
  },
  {
    id: 'neighbour:pending-signals',
    title: 'signals that a session leaves waiting keep no neighbour from timers and signals',
    exhaust: `signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN + 3])
most, state = min(resource.getrlimit(resource.RLIMIT_SIGPENDING)[0], 150_000), "all got"
if most < 0: most = 150_000
for _ in range(most + 1):
    if libc.sigqueue(os.getpid(), signal.SIGRTMIN + 3, None) != 0: state = "used up"; break
print(state)`,
    need: 'timer = ctypes.c_void_p(); print("works" if libc.timer_create(1, None, ctypes.byref(timer)) == 0 else "refused")',
  },
  {
    id: 'neighbour:message-queues',
    title: 'POSIX message queues of a session leave those of its neighbours alone',
    exhaust: `state = "all got"
for index in range(300):
    if libc.mq_open(b"/hotcell-%d" % index, 0o102, 0o600, None) < 0: state = "used up"; break
    kept.append(index)
print(state)`,
    need: `queue = libc.mq_open(b"/hotcell-mine", 0o102, 0o600, None)
if queue >= 0: os.close(queue); libc.mq_unlink(b"/hotcell-mine")
print("works" if queue >= 0 else "refused")`,
  },
  {
    id: 'neighbour:epoll',
    title: 'what a session watches by epoll keeps no neighbour from asyncio',
    // A watch for each pair of an epoll and a descriptor. They cost memory, which is the first to run out where the limit is low.
    limits: { memoryBytes: 4 * 1_073_741_824, openFiles: 8192 },
    alwaysUsedUp: false,
    exhaust: `most, state = min(system_limit("/proc/sys/fs/epoll/max_user_watches", 20_000), 8_000_000), "all got"
read_end, write_end = os.pipe()
ends = [os.dup(read_end) for _ in range(min(4000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))]
watched = 0
while watched <= most and state == "all got":
    kept.append(select.epoll())
    register = kept[-1].register
    try:
        for end in ends: register(end, 1)
        watched += len(ends)
    except OSError: state = "used up"
print(state)`,
    // More than the guest of the other lets go of when its execution has ended.
    need: `mine, ends = [select.epoll() for _ in range(10)], [end for _ in range(50) for end in os.pipe()]
try:
    for one in mine:
        for end in ends: one.register(end, 1)
    print("works")
except OSError: print("refused")
for one in mine: one.close()
for end in ends: os.close(end)`,
  },
];

/** Only root can give uids away. */
const SHARED_UID: Exemptions =
  process.getuid?.() === 0
    ? {}
    : Object.fromEntries(
        [TARGETS.shared, TARGETS.single, TARGETS.soft].map(({ name }) => [
          name,
          'without root all jails have the uid of the server; docs/threat-model.md says so',
        ]),
      );

async function prove(counter: Counter, { fresh, target }: Context): Promise<void> {
  const [greedy, neighbour] = [await fresh({ limits: counter.limits ?? {} }), await fresh()];
  expect(await stdoutOf(neighbour, PRELUDE + counter.need)).toBe('works');
  const state = await stdoutOf(greedy, PRELUDE + counter.exhaust, 60_000);
  // gVisor has other limits, or none.
  if (target.name !== 'gvisor' && counter.alwaysUsedUp !== false) expect(state).toBe('used up');
  expect(await stdoutOf(neighbour, counter.need)).toBe('works');
}

export const kernelCounterRequirements: readonly Requirement[] = COUNTERS.map((counter) => ({
  id: counter.id,
  tag: 'driver' as const,
  title: counter.title,
  exempt: {
    ...SHARED_UID,
    bare: 'would use up what other programs need; test/security/common-uid.test.ts shows the attack succeeding',
  },
  prove: (context: Context) => prove(counter, context),
}));
