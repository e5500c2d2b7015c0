import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { HotcellError } from '../../../src/index.ts';
import { openTarget } from '../../support/targets.ts';
import { type Requirement, stdoutOf, warmSession } from '../context.ts';

/** What Python sees of the variables: itself, its clock, and a child. */
const ENVIRONMENT = `import json, os, subprocess, sys, time
child = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ), sort_keys=True))"]
print(time.tzname[0], os.environ["BROWSER"])
print(json.dumps(dict(os.environ), sort_keys=True), subprocess.run(child, capture_output=True, text=True).stdout)`;

/** Shows that the import does run the program, where the variable is set. */
const IMPORTS_ANEW = `import os, subprocess, sys
subprocess.run([sys.executable, "-c", "import antigravity"], check=True)
print(any("ran" in name for name in os.listdir("/tmp")))`;

export const lifecycleRequirements: readonly Requirement[] = [
  {
    id: 'session:order',
    tag: 'driver',
    title: 'executions run one at a time and in order; a caller may ask to be refused instead',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run('log = []');
      const runs = [0, 1, 2].map((n) => session.run(`import time; time.sleep(0.05); log.append(${n})`));
      await expect(session.run('1', { busy: 'refuse' }).then(() => {})).rejects.toMatchObject({ code: 'session_busy' });
      await Promise.all(runs.map((run) => run.then((result) => result)));
      expect((await session.run('log')).value?.text).toBe('[0, 1, 2]');
    },
  },
  {
    id: 'session:close',
    tag: 'driver',
    title: 'a busy session can be closed, everything in it dies, and a closed one says so',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const running = session.run('import time; time.sleep(60)', { timeoutMs: 60_000 }).then(
        (result) => result,
        (error: unknown) => error,
      );
      await session.run('1', { busy: 'refuse' }).then(
        () => {},
        () => {},
      );
      await session.close();
      expect(await running).toMatchObject({ code: 'session_closed' });
      await expect(session.run('1').then(() => {})).rejects.toMatchObject({ code: 'session_closed' });
      await expect(session.files.read('x')).rejects.toMatchObject({ code: 'session_closed' });
      await session.close();
    },
  },
  {
    id: 'session:bad-input',
    tag: 'driver',
    title: 'bad input is an error of the table with what to do, at once',
    prove: async ({ session, hotcell }) => {
      const refused = async (promise: PromiseLike<unknown>, code: string) => {
        const error = await promise.then(
          () => undefined,
          (reason: unknown) => reason,
        );
        expect(error).toBeInstanceOf(HotcellError);
        expect(error).toMatchObject({ code });
      };
      await refused(session.run('1', { timeoutMs: -1 }), 'invalid_argument');
      await refused(session.run('1', { timeoutMs: Number.NaN }), 'invalid_argument');
      await refused(session.run(`# ${'x'.repeat(1_100_000)}`), 'code_too_large');
      await refused(session.run('1', { filename: 'x'.repeat(70_000) }), 'invalid_argument');
      await refused(session.run('1', { filename: 'a\0b' }), 'invalid_argument');
      await refused(hotcell.open({ limits: { memoryBytes: 1000 } }), 'invalid_argument');
      await refused(hotcell.open({ limits: { cpus: -1 } }), 'invalid_argument');
      await refused(hotcell.open({ limits: { cpus: 1e9 } }), 'invalid_argument');
      await refused(hotcell.open({ limits: { memoryBytes: 100_000_000.5 } }), 'invalid_argument');
      await refused(hotcell.open({ limits: { processes: 1e9 } }), 'invalid_argument');
      await refused(hotcell.open({ mounts: [{ source: '/etc', target: '/data' }] }), 'mount_denied');
      const unfit = [
        { 'A=B': 'x' },
        { '': 'x' },
        { A: 'x\0y' },
        { A: '\ud800' },
        manyVariables(5_000),
        manyVariables(90, 600),
      ];
      for (const environment of unfit) await refused(hotcell.open({ environment }), 'invalid_argument');
      await refused(hotcell.open({ preloads: ['os; import sys'] }), 'invalid_argument');
      await refused(hotcell.open({ image: '--privileged' }), 'invalid_argument');
      for (const isolation of ['gvizor', '__proto__', 'constructor']) {
        await refused(hotcell.open({ isolation: isolation as 'gvisor' }), 'invalid_argument');
      }
    },
  },
  {
    id: 'session:mounts',
    tag: 'driver',
    title: 'a folder of the host is seen where it was asked for: read-only unless it was asked to be writable',
    exempt: { bare: 'mounts are the work of a driver' },
    prove: async ({ target }) => {
      const root = await mkdtemp(join(tmpdir(), 'hotcell-mount-'));
      try {
        await chmod(root, 0o777);
        await writeFile(join(root, 'in.txt'), 'from the host');
        await using hotcell = await openTarget(target, { mountRoots: [root] });
        await using session = await hotcell.open({
          mounts: [
            { source: root, target: '/data' },
            { source: root, target: '/workspace/inside' },
            { source: root, target: '/out', readOnly: false },
          ],
        });
        const code = `print(open("/data/in.txt").read(), open("/workspace/inside/in.txt").read() == open("/data/in.txt").read())
try: open("/data/x", "w")
except OSError as error: print(error.errno)
open("/out/made.txt", "w").write("from inside")`;
        expect(await stdoutOf(session, code)).toBe('from the host True\n30');
        expect(await readFile(join(root, 'made.txt'), 'utf8')).toBe('from inside');
      } finally {
        await rm(root, { recursive: true, force: true });
      }
    },
  },
  {
    id: 'session:pool',
    tag: 'driver',
    title: 'a pool gives out each sandbox once, never one that has run anything, and none is left at the end',
    exempt: { bare: 'a pool keeps sandboxes of a driver that can be probed' },
    prove: async ({ target }) => {
      await using hotcell = await openTarget(target, { poolSize: 2, preloads: ['json'] });
      await hotcell.open();
      await hotcell.settled();
      const sessions = [await hotcell.open(), await hotcell.open()];
      const seen = await Promise.all(
        sessions.map((session, index) =>
          stdoutOf(session, `seen = globals().get("mine")\nmine = ${index}\nprint(seen, mine)`),
        ),
      );
      expect(seen).toEqual(['None 0', 'None 1']);
      await hotcell.settled();
    },
  },
  {
    id: 'session:environment',
    tag: 'driver',
    title: 'the variables of a session hold for kernels, children and commands, pooled or not, and for no preload',
    exempt: { bare: 'its guest has only the standard variables' },
    prove: async ({ target }) => {
      // `import antigravity` runs the program that BROWSER names.
      await using hotcell = await openTarget(target, { poolSize: 1, preloads: ['antigravity'] });
      const variables = {
        BROWSER: 'touch /tmp/ran %s',
        GREETING: "it's\n$HOME",
        TZ: 'JST-9',
        OMP_NUM_THREADS: '7',
      };
      const views: string[][] = [];
      for (const environment of [variables, variables, { ...variables, BROWSER: 'touch /tmp/ran-too %s' }]) {
        await using session = await hotcell.open({ environment });
        expect(
          await stdoutOf(session, 'import os; print([name for name in os.listdir("/tmp") if "ran" in name])'),
        ).toBe('[]');
        const view = [await stdoutOf(session, ENVIRONMENT)];
        view.push((await session.run('echo "$GREETING" $TZ $OMP_NUM_THREADS', { language: 'bash' })).stdout);
        view.push((await session.command('echo "$GREETING" $TZ $OMP_NUM_THREADS')).stdout);
        await session.reset();
        view.push(await stdoutOf(session, ENVIRONMENT));
        views.push(view.map((text) => withoutCallsName(text.replaceAll('ran-too', 'ran'))));
        expect(await stdoutOf(session, IMPORTS_ANEW)).toBe('True');
        await hotcell.settled(); // the next session gets one of the pool
      }
      expect(views[0]![0]).toContain('JST touch /tmp/ran');
      // Every kernel has as many threads as processors, whatever the session says.
      expect(views[0]![2]).toBe("it's\n$HOME JST-9 1\n");
      expect(views[0]![3]).toBe(views[0]![0]);
      expect(views[1]).toEqual(views[0]);
      expect(views[2]).toEqual(views[0]);
    },
  },
  {
    id: 'session:alike',
    tag: 'driver',
    title: 'a kernel has the same barriers however it came to be: first, forked ahead, after a reset, or with preloads',
    exempt: { bare: 'it has no barriers' },
    prove: async ({ hotcell, fresh }) => {
      const barriers: string[] = [];
      for (const _ of ['first', 'second', 'third']) {
        const session = await fresh();
        barriers.push(withoutCallsName(await stdoutOf(session, BARRIERS)));
        await session.reset();
        barriers.push(withoutCallsName(await stdoutOf(session, BARRIERS)));
        await hotcell.settled(); // the next is ready ahead
      }
      barriers.push(withoutCallsName(await stdoutOf(await warmSession({ fresh }), BARRIERS)));
      expect(barriers[0]).toContain('CapEff');
      expect([...new Set(barriers)]).toEqual([barriers[0]]);
    },
  },
  {
    id: 'session:supervisor-killed',
    tag: 'driver',
    title: 'a program cannot stop or kill the supervisor',
    exempt: { bare: 'process 1 is the host’s own' },
    prove: async ({ fresh }) => {
      const session = await fresh();
      const code = `import os, signal, time
refused = 0
for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
    try: os.kill(1, number)
    except PermissionError: refused += 1
try: os.pidfd_open(1)
except PermissionError: refused += 1
time.sleep(0.2)
print(refused)`;
      expect(await stdoutOf(session, code)).toBe('4');
      const next = await session.run('1 + 1');
      expect(next.value?.text).toBe('2');
      expect(next.restarted).toBeUndefined();
    },
  },
  {
    id: 'session:idle-loss',
    tag: 'driver',
    title: 'a kernel that dies between two executions is said to have, with the next result',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run(`x = 1
import os, threading, time
def end():
    while not os.path.exists("go"): time.sleep(0.02)
    os._exit(7)
threading.Thread(target=end).start()`);
      await session.files.write('go', '');
      let result = await session.run('1 + 1');
      for (let attempt = 0; attempt < 100 && result.restarted === undefined && result.state === 'kept'; attempt += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        result = await session.run('2');
      }
      expect(result.restarted ?? result.state).toMatch(/ended while idle|lost/);
      expect((await session.run('x')).outcome).toMatchObject({ kind: 'raised', name: 'NameError' });
    },
  },
  {
    id: 'session:stopped',
    tag: 'driver',
    title: 'a program that stops every process it can see and dies while idle loses its variables, nothing else',
    exempt: { bare: 'it sees the processes of the host' },
    prove: async ({ fresh }) => {
      const session = await warmSession({ fresh });
      await session.run(`import os, signal, threading
def stop_all():
    for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
        if pid not in (1, os.getpid()):
            try: os.kill(pid, signal.SIGSTOP)
            except OSError: pass
    open("stopped", "w").close()
    os._exit(7)
threading.Timer(0.2, stop_all).start()`);
      // The file tells it without a run, in which the kernel would not be idle.
      await expect.poll(async () => (await session.files.list()).entries, { timeout: 10_000 }).toHaveLength(1);
      expect((await session.run('1')).restarted).toMatch(/while idle/);
      expect((await session.variables.list()).total).toBe(0);
    },
  },
  {
    id: 'session:crash',
    tag: 'driver',
    title: 'a kernel killed at any moment gives a typed outcome, and the next call works',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.files.write('kept.txt', '1');
      const moments = [
        'import os, signal; os.kill(os.getpid(), signal.SIGKILL)',
        'import os, signal; print("x" * 1_000_000, flush=True); os.kill(os.getpid(), signal.SIGKILL)',
        'import ctypes; ctypes.string_at(0)',
        'import os; os.close(3)',
        'import os, signal, threading\nthreading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()\nwhile True: pass',
        'import atexit, os; [os.fork() for _ in range(2)]; os.abort()',
      ];
      for (const code of moments) {
        const startedAt = performance.now();
        const result = await session.run(code, { timeoutMs: 20_000 });
        expect(performance.now() - startedAt, code).toBeLessThan(5_000);
        expect(result.outcome.kind, code).toMatch(/kernel-died|ok/);
        expect((await session.run('open("kept.txt").read()')).value?.text, code).toBe("'1'");
      }
    },
  },
];

/** What closes a kernel in, as far as it can see that itself. */
const BARRIERS = `import os, re, resource
status = open("/proc/self/status").read()
print(*re.findall("^(?:Cap|NoNewPrivs|Seccomp|Groups|Gid|Umask).*", status, re.M), sep="\\n")
# Which uid it is may differ between containers; that it is one in all four places, and not root, may not.
print(len(set(os.getresuid())), os.getuid() != 0)
print({name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_") and name != "RLIMIT_DATA"})
print(len(os.sched_getaffinity(0)), re.sub("[0-9a-f]{16,}|g-?[0-9a-z]{8,}", "…", open("/proc/self/cgroup").read()), open("/proc/self/oom_score_adj").read())
print(sorted(line.split(" - ")[0].split()[4:6] + line.split(" - ")[1].split()[:1] for line in open("/proc/self/mountinfo")))
print(os.getcwd(), sorted(os.listdir("/proc/self/fd"))[:4], sorted(os.environ.items()), os.getsid(0) == os.getpid())
`;

function manyVariables(count: number, length = 1): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, number) => [`V${number}`, 'x'.repeat(length)]));
}

/** The socket for calls has a random name in each sandbox. */
function withoutCallsName(text: string): string {
  return text.replace(/@hotcell-calls-[0-9a-f]+/g, '@hotcell-calls');
}
