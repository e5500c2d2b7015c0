import { expect } from 'vitest';
import { type Requirement, stdoutOf } from '../context.ts';

/** The system call that ends one thread, not its process. */
const EXIT_OF_A_THREAD = process.arch === 'x64' ? 60 : 93;
const BASH = { language: 'bash' } as const;

export const interruptRequirements: readonly Requirement[] = [
  {
    id: 'interrupt:timeout',
    tag: 'guest',
    title: 'an endless loop ends at its time limit and keeps the variables',
    prove: async ({ session }) => {
      await session.run('kept = 11');
      const result = await session.run('open("half.txt", "w").write("x")\nwhile True: pass', { timeoutMs: 400 });
      expect(result.outcome).toEqual({ kind: 'timed-out', limitMs: 400 });
      expect(result.state).toBe('kept');
      expect(result.artifacts.map(({ path }) => path)).toContain('half.txt');
      expect((await session.run('kept')).value?.text).toBe('11');
    },
  },
  {
    id: 'interrupt:starting',
    tag: 'guest',
    title: 'a time limit that passes while a kernel is still starting is an outcome like any other',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run('kept = 11');
      // Without an end: on a busy machine the kernel may be there before anybody looks at the time.
      for (const [language, code] of Object.entries({ javascript: 'for (;;);', bash: 'while :; do :; done' })) {
        const { outcome } = await session.run(code, { language, timeoutMs: 1 });
        expect(outcome).toEqual({ kind: 'timed-out', limitMs: 1 });
      }
      expect((await session.run('1 + 1', { language: 'javascript' })).value?.text).toBe('2');
      expect((await session.run('echo 2', { language: 'bash' })).stdout).toBe('2\n');
      expect((await session.run('kept')).value?.text).toBe('11');
    },
  },
  {
    id: 'interrupt:stubborn',
    tag: 'guest',
    title: 'a loop that ignores SIGINT, or catches everything, is dead within five seconds of its limit',
    prove: async ({ impatient }) => {
      const session = await impatient();
      for (const code of [
        'import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass',
        // Not `pass`: CPython 3.11 covers the jump back of an empty loop by no `except`.
        'import time\nwhile True:\n    try:\n        while True: time.sleep(0.001)\n    except BaseException:\n        pass',
        '"x" * 1\nimport re\nre.match(r"(a+)+$", "a" * 40 + "b")', // holds the interpreter in C
      ]) {
        const startedAt = performance.now();
        const result = await session.run(code, { timeoutMs: 150 });
        expect(performance.now() - startedAt).toBeLessThan(5_150);
        expect(result.outcome).toMatchObject({ kind: 'timed-out' });
        expect((await session.run('1 + 1')).value?.text).toBe('2');
      }
    },
  },
  {
    id: 'interrupt:default-grace',
    tag: 'driver',
    title: 'by default code and answers have a second to stop by themselves, and are ended within five',
    prove: async ({ fresh }) => {
      const timed = async <T>(work: PromiseLike<T>) => {
        const startedAt = performance.now();
        return { done: await work, tookMs: performance.now() - startedAt };
      };
      const [session, asked] = [await fresh(), await fresh()];
      const running = (async () => {
        const stops =
          'import time\ntry:\n    while True: time.sleep(0.001)\nexcept KeyboardInterrupt:\n    time.sleep(0.7)\nstopped = True';
        expect(await session.run(stops, { timeoutMs: 150 })).toMatchObject({ outcome: { kind: 'timed-out' } });
        expect((await session.run('stopped')).value?.text).toBe('True');
        const ignores = 'import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass';
        const { done, tookMs } = await timed(session.run(ignores, { timeoutMs: 150 }));
        expect(done).toMatchObject({ outcome: { kind: 'timed-out' }, state: 'lost' });
        expect(tookMs).toBeGreaterThan(2_100);
        expect(tookMs).toBeLessThan(5_150);
      })();
      await asked.run('import itertools');
      const endless = asked.variables.get('sum(itertools.repeat(0))', { timeoutMs: 200 });
      const answer = await timed(expect(endless).rejects.toMatchObject({ code: 'kernel_lost' }));
      expect(answer.tookMs).toBeGreaterThan(1_600);
      expect(answer.tookMs).toBeLessThan(5_000);
      await running;
    },
  },
  {
    id: 'interrupt:cancel',
    tag: 'guest',
    title: 'a cancelled execution is interrupted, and the session goes on',
    prove: async ({ session }) => {
      const controller = new AbortController();
      const running = session.run('print("begun")\nimport time; time.sleep(60)', { signal: controller.signal });
      for await (const event of running) if (event.kind === 'stdout') controller.abort();
      expect((await running).outcome).toEqual({ kind: 'interrupted' });
      expect((await session.run('2')).value?.text).toBe('2');
    },
  },
  {
    id: 'interrupt:descendants',
    tag: 'driver',
    title: 'daemons that left the process group are dead at the time limit, and so is a blocking child',
    prove: async ({ session, target }) => {
      const code = `import subprocess, os, time
subprocess.Popen(["setsid", "sleep", "4711"])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "4712"])
    os._exit(0)
os.system("sleep 4713")`;
      const result = await session.run(code, { timeoutMs: 500 });
      expect(result.outcome.kind).toBe('timed-out');
      if (target.bare === true) return;
      const left = await stdoutOf(session, LIVE_SLEEPS);
      expect(left).toBe('[]');
    },
  },
  {
    id: 'interrupt:exited-leader',
    tag: 'driver',
    title: 'a process whose main thread has exited is ended like any other: at a time limit, by a deadline, by a reset',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const survivor = (lock: string) => `import ctypes, fcntl, os, threading, time
if os.fork() == 0:
    os.setsid()
    lock = open("${lock}", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    threading.Thread(target=time.sleep, args=(600,)).start()
    open("${lock}-held", "w").close()
    ctypes.CDLL(None).syscall(${EXIT_OF_A_THREAD}, 0)
while not os.path.exists("${lock}-held"): time.sleep(0.01)
`;
      const isHeld = async (lock: string) =>
        (await session.run(`flock -n ${lock} echo free || echo held`, BASH)).stdout;

      await session.run(survivor('left'));
      expect(await isHeld('left')).toBe('held\n');

      const late = await session.run(`${survivor('late')}time.sleep(600)`, { timeoutMs: 2_000 });
      expect(late.outcome.kind).toBe('timed-out');
      await expect.poll(() => isHeld('late')).toBe('free\n');

      await session.files.write('survivor.py', Buffer.from(survivor('command')));
      const command = await session.command('python3 survivor.py; sleep 600', { timeoutMs: 3_000 });
      expect(command.outcome.kind).toBe('timed-out');
      await expect.poll(() => isHeld('command')).toBe('free\n');

      expect(await isHeld('left')).toBe('held\n');
      await session.reset();
      await expect.poll(() => isHeld('left')).toBe('free\n');
    },
  },
  {
    id: 'interrupt:background',
    tag: 'guest',
    title: 'background processes live on, and what they print later is in no other execution',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const begun = await session.run(
        'import subprocess\np = subprocess.Popen("until [ -e go ]; do sleep 0.02; done; echo late", shell=True)\nprint("now")',
      );
      expect(begun.stdout).toBe('now\n');
      const next = await session.run('open("go", "w").close(); print(p.wait())');
      expect(next.stdout).toBe('0\n');
      await expect.poll(() => session.backgroundOutput()).toContain('late');
      // Some that were born between two executions, and a thread of the kernel's own.
      await session.run('1');
      await session.run(`import os, threading, time
def work():
    while not os.path.exists("between"): time.sleep(0.02)
    os.write(1, b"thread\\n")
    subprocess.Popen("until [ -e end ]; do sleep 0.02; done; echo later still", shell=True)
    open("born", "w").close()
threading.Thread(target=work).start()`);
      await session.files.write('between', '');
      await expect.poll(async () => (await session.files.list()).entries.map(({ path }) => path)).toContain('born');
      expect((await session.run('open("end", "w").close(); time.sleep(0.4)')).stdout).toBe('');
      await expect.poll(() => session.backgroundOutput()).toMatch(/thread\n[\s\S]*later still/);
    },
  },
  {
    id: 'interrupt:forking-background',
    tag: 'guest',
    title: 'a background process that forks while others are ended goes on, and so does what it forked',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const program = `import os
ballast = bytearray(b"x") * 200_000_000
for turn in range(1_000_000):
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    with open("turn.new", "w") as file:
        file.write(str(turn))
    os.replace("turn.new", "turn.txt")`;
      await session.files.write('forks.py', program);
      await session.run(`import subprocess, sys, os, time
subprocess.Popen([sys.executable, "forks.py"], start_new_session=True)
while not os.path.exists("turn.txt"): time.sleep(0.01)`);
      for (let turn = 0; turn < 20; turn += 1) await session.run('time.sleep(60)', { timeoutMs: 50 });
      const goesOn = await session.run(
        'before = open("turn.txt").read()\nwhile open("turn.txt").read() == before: time.sleep(0.01)',
        { timeoutMs: 20_000 },
      );
      expect(goesOn.outcome).toEqual({ kind: 'ok' });
    },
  },
  {
    id: 'interrupt:reset',
    tag: 'guest',
    title: 'a reset forgets variables, ends processes and keeps files',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run('x = 1\nopen("f", "w").write("1")\nimport subprocess\nsubprocess.Popen(["sleep", "4714"])');
      await session.reset();
      expect((await session.run('x')).outcome).toMatchObject({ kind: 'raised', name: 'NameError' });
      expect(await stdoutOf(session, 'print(open("f").read())')).toBe('1');
    },
  },
];

/** Prints what is left of the sleeps that proofs begin. Who is killed has still to run once to die of it: on a busy machine that takes a moment. */
export const LIVE_SLEEPS = `import os, time
def live():
    left = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = open(f"/proc/{pid}/cmdline").read().split("\\0")
            state = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if "471" in "".join(command) and state != "Z" and command[0].endswith(("sleep", "sh", "setsid")):
            left.append(command)
    return left
deadline = time.monotonic() + 10
while live() and time.monotonic() < deadline: time.sleep(0.02)
print(live())`;
