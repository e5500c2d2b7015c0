import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Session } from '../../../src/index.ts';
import { type Requirement, stdoutOf } from '../context.ts';

const MiB = 1_048_576;
/** Time for each block of 4 MiB near the limit. A watchdog that looks four times a second, on a busy machine, is on time if 60 MiB take a second and a half. */
const NEAR_LIMIT_SECONDS = 0.1;
const BARE = { bare: 'nothing is limited there, and to show it would harm the host' };

export const limitRequirements: readonly Requirement[] = [
  {
    id: 'limit:memory',
    tag: 'driver',
    title: 'memory that runs out is an outcome that says so; files are kept and a new kernel answers',
    exempt: BARE,
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { memoryBytes: 256 * MiB, diskBytes: 16 * MiB } });
      await session.files.write('kept.txt', 'kept');
      for (const code of [
        'blocks = []\nwhile True: blocks.append(b"x" * (1 << 20))',
        'x = bytearray(2 << 30)',
        // Shared between processes, and in no file.
        'import mmap, time\nm = mmap.mmap(-1, 900 << 20)\nfor at in range(0, len(m), 4096): m[at] = 1\ntime.sleep(20)',
        'import os\nfor _ in range(8):\n    if os.fork() == 0:\n        b = bytearray(100 << 20)\n        import time; time.sleep(20)\nb = []\nwhile True: b.append(b"x" * (1 << 20))',
      ]) {
        const result = await session.run(code, { timeoutMs: 30_000 });
        expect(result.outcome, code).toEqual({ kind: 'out-of-memory', limitBytes: 256 * MiB });
        expect(result.files, code).toBe('kept');
        expect(String(await session.files.read('kept.txt'))).toBe('kept');
        await session.reset();
        expect((await session.run('1 + 1')).value?.text).toBe('2');
      }
    },
  },
  {
    id: 'limit:memory-at-once',
    tag: 'driver',
    title: 'of two executions at once the one that holds more memory is ended, and the other is not',
    exempt: BARE,
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { memoryBytes: 256 * MiB, diskBytes: 16 * MiB } });
      const bash = session.run('until [ -e go ]; do sleep 0.02; done; echo unharmed', { language: 'bash' });
      const grown = await session.run('blocks = []\nwhile True: blocks.append(b"x" * (1 << 20))');
      expect(grown.outcome).toEqual({ kind: 'out-of-memory', limitBytes: 256 * MiB });
      await session.files.write('go', '');
      expect(await bash).toMatchObject({ outcome: { kind: 'ok' }, state: 'kept', stdout: 'unharmed\n' });
    },
  },
  {
    id: 'limit:memory-idle',
    tag: 'driver',
    title: 'what an execution left, a thread or a process, is held to the memory limit too, and a loss is said',
    exempt: BARE,
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { memoryBytes: 256 * MiB, diskBytes: 16 * MiB } });
      const grow = (beat: string, quickly: number) => `import time
def grow():
    blocks = []
    while len(blocks) < 128:
        blocks.append(b"x" * (4 << 20))
        with open("${beat}", "a") as file: file.write(".")
        time.sleep(0.01 if len(blocks) < ${quickly} else ${NEAR_LIMIT_SECONDS})
    time.sleep(60)`;
      const watched = 'python3 -c "$0"; code=$?; touch process-ended; exit $code';
      await session.run(`x = 1\nimport subprocess, sys\ncode = ${JSON.stringify(`${grow('process', 48)}\ngrow()`)}
process = subprocess.Popen(["sh", "-c", ${JSON.stringify(watched)}, code])`);
      await untilThere(session, 'process-ended');
      expect(await sizeOf(session, 'process')).toBeLessThan(75);
      const kept = await session.run('x, process.wait() != 0');
      expect([kept.value?.text, kept.restarted]).toEqual(['(1, True)', undefined]);

      // Beside something smaller, so that the kernel is not stopped by its own limit before the sandbox reaches its.
      const held = 'import time; held = b"x" * (100 << 20); print(flush=True); time.sleep(60)';
      await session.run(`holder = subprocess.Popen([sys.executable, "-c", ${JSON.stringify(held)}], stdout=subprocess.PIPE)
holder.stdout.readline()
subprocess.Popen(["sh", "-c", "while kill -0 $PPID; do sleep 0.05; done 2>/dev/null; touch thread-ended"])`);
      await session.run(`${grow('thread', 24)}\nimport threading\nthreading.Thread(target=grow, daemon=True).start()`);
      await untilThere(session, 'thread-ended');
      expect(await sizeOf(session, 'thread')).toBeLessThan(75);
      const next = await session.run('"x" in globals()');
      expect([next.outcome.kind, next.value?.text, next.files]).toEqual(['ok', 'False', 'kept']);
      expect(next.restarted).toMatch(/its kernel .*ended.*variables are gone, files are not/);
    },
  },
  {
    id: 'limit:memory-exited-leader',
    tag: 'driver',
    title: 'so is a process whose main thread has exited, which /proc shows as a zombie without memory',
    exempt: BARE,
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { memoryBytes: 256 * MiB, diskBytes: 16 * MiB } });
      await session.run(`import ctypes, fcntl, os, threading, time
if os.fork() == 0:
    os.setsid()
    lock = open("lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    def grow():
        blocks = []
        while len(blocks) < 128:
            blocks.append(b"x" * (4 << 20))
            with open("grown", "a") as file: file.write(".")
            time.sleep(0.01 if len(blocks) < 48 else ${NEAR_LIMIT_SECONDS})
        time.sleep(600)
    threading.Thread(target=grow).start()
    ctypes.CDLL(None).syscall(${process.arch === 'x64' ? 60 : 93}, 0)
while not os.path.exists("grown"): time.sleep(0.01)`);
      const lock = () => session.command('flock -n lock echo free || echo held');
      await expect.poll(async () => (await lock()).stdout, { timeout: 60_000 }).toBe('free\n');
      expect(await sizeOf(session, 'grown')).toBeLessThan(75);
    },
  },
  {
    id: 'limit:memory-crowd',
    tag: 'driver',
    title: 'so are many small processes, each smaller than a kernel, and the session goes on',
    exempt: BARE,
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { memoryBytes: 256 * MiB, diskBytes: 16 * MiB, processes: 250 } });
      await session.files.write('kept.txt', 'kept');
      // Each holds what it has read and cannot write. They come slowly: what outgrows the guest's looks is for the container's own limit, which ends everything.
      const crowd = `until [ -e go ]; do sleep 0.02; done
for n in $(seq ${CROWD}); do (dd if=/dev/zero bs=7M 2>/dev/null | sleep 300) & printf . >>born; sleep 0.05; done
wait`;
      await session.run(`import subprocess
subprocess.Popen(["sh", "-c", ${JSON.stringify(crowd)}], start_new_session=True)`);
      const count = `import os
def is_of_crowd(pid):
    try: return open(f"/proc/{pid}/comm").read() == "dd\\n"
    except OSError: return False
sum(is_of_crowd(pid) for pid in os.listdir("/proc") if pid.isdigit())`;
      // Asked for by the files, which is no execution: it is the idle session that is watched.
      await session.files.write('go', '');
      await untilStill(session, 'born', CROWD);
      const crowdSize = async () => {
        // Where a cgroup holds the limit, what the crowd left may be too little for this one, or for a kernel at all.
        const result = await Promise.resolve(session.run(count)).catch((error: Error) => error);
        if (result instanceof Error) {
          expect(result.message).toContain('SIGKILL');
          return 0;
        }
        expect(result.outcome.kind).toMatch(/^(ok|out-of-memory)$/);
        return result.outcome.kind === 'ok' ? Number(result.value?.text) : 0;
      };
      await expect.poll(crowdSize).toBeLessThan(37);
      expect((await session.files.read('kept.txt')).toString()).toBe('kept');
      await session.reset();
      expect((await session.run('1')).outcome).toEqual({ kind: 'ok' });
    },
  },
  {
    id: 'limit:processes',
    tag: 'driver',
    title: 'a fork bomb and a thread bomb are bounded, and the session goes on',
    exempt: BARE,
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { processes: 40 } });
      const forks = `import os, time
made = 0
try:
    for _ in range(300):
        if os.fork() == 0:
            time.sleep(30); os._exit(0)
        made += 1
except OSError as error:
    print(made, type(error).__name__)`;
      const [made, name] = (await stdoutOf(session, forks)).split(' ');
      expect(Number(made)).toBeLessThan(45);
      expect(name).toBe('BlockingIOError');
      await session.reset();
      const threads = `import threading, time
made = 0
try:
    for _ in range(300):
        threading.Thread(target=time.sleep, args=(2,), daemon=True).start(); made += 1
except RuntimeError:
    print(made)`;
      expect(Number(await stdoutOf(session, threads))).toBeLessThan(45);
      const bomb = await session.run('import os\nwhile True:\n    try: os.fork()\n    except OSError: pass', {
        timeoutMs: 1500,
      });
      expect(bomb.outcome.kind).toMatch(/timed-out/);
      expect((await session.run('1 + 1', { timeoutMs: 20_000 })).value?.text).toBe('2');
    },
  },
  {
    id: 'limit:open-files',
    tag: 'driver',
    title: 'a million descriptors are refused at the limit',
    prove: async ({ session }) => {
      const code =
        'files = []\ntry:\n    while True: files.append(open("/dev/null"))\nexcept OSError as error:\n    print(len(files) < 1100, error.errno)\nfinally:\n    files.clear()';
      expect(await stdoutOf(session, code)).toBe('True 24');
    },
  },
  {
    id: 'limit:held-output',
    tag: 'driver',
    title: 'output pipes of many executions that code holds on to are closed in the end, the oldest first',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run('import os, threading\nheld = []');
      // Something is born, so that the next execution gets new pipes.
      const hold = 'held.append(os.dup(1))\nborn = threading.Thread(target=int)\nborn.start()\nborn.join()';
      for (let call = 0; call < 140; call += 1) expect((await session.run(hold)).outcome.kind).toBe('ok');
      const write = `def works(fd):
    try: return os.write(fd, b"late") == 4
    except BrokenPipeError: return False
print([works(fd) for fd in held].index(True) >= 10, works(held[-1]))`;
      expect(await stdoutOf(session, write)).toBe('True True');
    },
  },
  {
    id: 'limit:file-size',
    tag: 'driver',
    title: 'a file cannot grow past its limit',
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { fileBytes: 2 * MiB } });
      const code =
        'try:\n    with open("big", "wb") as f:\n        for _ in range(10): f.write(b"x" * (1 << 20)); f.flush()\nexcept OSError as error:\n    print(error.errno)';
      expect(await stdoutOf(session, code)).toBe('27');
    },
  },
  {
    id: 'limit:disk',
    tag: 'driver',
    title: 'a full workspace, /tmp and /dev/shm raise ENOSPC at the limit, and can be emptied again',
    exempt: BARE,
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { memoryBytes: 256 * MiB, diskBytes: 8 * MiB } });
      const fill = (folder: string) => `import os, errno
written = 0
try:
    with open("${folder}/fill", "wb") as f:
        while True: written += f.write(b"x" * 65536); f.flush()
except OSError as error:
    print(errno.errorcode[error.errno], written <= ${folder === '/workspace' ? 8 : 72} * 1048576)
os.unlink("${folder}/fill")`;
      for (const folder of ['/workspace', '/tmp', '/dev/shm']) {
        expect(await stdoutOf(session, fill(folder)), folder).toBe('ENOSPC True');
      }
      await expect(session.files.write('big', Buffer.alloc(9 * MiB))).rejects.toMatchObject({ code: 'disk_full' });
      expect((await session.run('1')).outcome.kind).toBe('ok');
    },
  },
  {
    id: 'limit:inodes',
    tag: 'driver',
    title: 'a flood of empty files ends at a limit of its own or at that of memory, and the session goes on',
    exempt: BARE,
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { memoryBytes: 128 * MiB, diskBytes: 8 * MiB } });
      // One call for each, where opening and closing would take gVisor half a minute.
      const code =
        'import os\ntry:\n    for i in range(1_000_000): os.mknod(f"i{i}", 0o100600)\nexcept OSError as error:\n    print(error.errno)\nfor name in os.listdir("."): os.unlink(name)';
      const result = await session.run(code, { timeoutMs: 60_000 });
      if (result.outcome.kind === 'ok') expect(result.stdout).toBe('28\n');
      else expect(result.outcome.kind).toMatch(/out-of-memory|kernel-died|sandbox-lost/);
      await session.run('1', { timeoutMs: 20_000 }).then(
        () => {},
        () => {},
      );
      expect((await session.run('1 + 1', { timeoutMs: 20_000 })).outcome.kind).toBe('ok');
    },
  },
  {
    id: 'limit:cpu',
    tag: 'driver',
    title: 'half a processor is half a processor, or one where nothing but affinity limits it',
    exempt: { ...BARE },
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { cpus: 0.5 } });
      if (session.isolation.limits.cpu.strength === 'soft') {
        expect(await stdoutOf(session, 'import os; print(len(os.sched_getaffinity(0)))')).toBe('1');
        return;
      }
      const code = `import time
wall, used = time.monotonic(), time.process_time()
while time.monotonic() - wall < 2: pass
print((time.process_time() - used) / (time.monotonic() - wall))`;
      // gVisor counts a tick for whoever is to run, also while the host lets nobody: on a busy machine that is too many, now and then.
      await expect.poll(async () => Number(await stdoutOf(session, code)), { timeout: 8_000 }).toBeLessThan(0.7);
    },
  },
  {
    id: 'limit:cpu-at-once',
    tag: 'driver',
    title:
      'where affinity is the limit, all kernels of a session are on the same processors, also those that are started again',
    exempt: BARE,
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { cpus: 1 } });
      const { by, strength } = session.isolation.limits.cpu;
      if (by !== 'processor affinity') {
        expect(strength).toBe('hard'); // a quota of the whole sandbox, as `limit:cpu` shows
        return;
      }
      const python = await stdoutOf(session, 'import os; print(*os.sched_getaffinity(0))');
      // Drawn anew each time, the chance that all are the same would be one in a thousand on two processors.
      for (let restart = 0; restart < 10; restart += 1) {
        const bash = await session.run('grep Cpus_allowed_list /proc/self/status', { language: 'bash' });
        expect(bash.stdout.trim().split(/\s/).at(-1)).toBe(python);
        await session.run('kill -9 $PPID', { language: 'bash' });
      }
    },
  },
];

/** A third more than fit into the memory of the session. */
const CROWD = 48;

/** Longer than a busy machine lets a program wait that writes every few milliseconds. */
const SILENCE_MS = 2_000;

/** Resolves when a file has `most` bytes, or what writes to it has been ended. */
async function untilStill(session: Session, path: string, most: number): Promise<void> {
  let size = 0;
  let changedAt = performance.now();
  while (size < most && performance.now() - changedAt < SILENCE_MS) {
    await sleep(50);
    const now = await sizeOf(session, path);
    if (now !== size) changedAt = performance.now();
    size = now;
  }
}

async function untilThere(session: Session, path: string): Promise<void> {
  const paths = async () => (await session.files.list()).entries.map((entry) => entry.path);
  await expect.poll(paths, { timeout: 60_000 }).toContain(path);
}

async function sizeOf(session: Session, path: string): Promise<number> {
  return (await session.files.list()).entries.find((entry) => entry.path === path)?.sizeBytes ?? 0;
}
