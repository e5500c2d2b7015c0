import { expect } from 'vitest';
import type { Session } from '../../../src/sessions/session.ts';
import { strength } from '../../support/strength.ts';
import { type Requirement, stdoutOf } from '../context.ts';

const MiB = 1_048_576;
const LIMITS = { memoryBytes: 256 * MiB, diskBytes: 64 * MiB };

/** Memory where a watchdog that looks at executions, or at processes alone, would not see it. */
export const hiddenMemoryRequirements: readonly Requirement[] = [
  {
    id: 'limit:memory-stalled',
    tag: 'driver',
    title: 'an execution whose reader stalls keeps nothing from being held to the memory limit',
    exempt: { bare: 'nothing is limited there, and to show it would harm the host' },
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: LIMITS });
      const run = session.run(`${CROWD}
os.set_blocking(1, False)
blocked_since = time.monotonic()
while time.monotonic() - blocked_since < 0.5:
    try: os.write(1, b"x" * 4096); blocked_since = time.monotonic()
    except BlockingIOError: time.sleep(0.01)
open("printed", "w").close()`);
      const events = run[Symbol.asyncIterator]();
      await events.next();
      await untilThere(session, 'printed');
      await session.files.write('go', '');
      expect(await living(session)).toBeLessThan(3);
      while ((await events.next()).done !== true);
      expect((await run).outcome.kind).toBe('ok');
    },
  },
  {
    id: 'limit:memory-unreaped',
    tag: 'driver',
    title:
      'nor does an execution of JavaScript whose end code hides: it stops the parent of its kernel again and again',
    exempt: { bare: 'nothing is limited there, and to show it would harm the host' },
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { ...LIMITS, memoryBytes: 512 * MiB } });
      await session.run('1', { language: 'javascript' });
      await session.run(STOPPERS);
      for (let round = 0; round < 3; round += 1) {
        const began = performance.now();
        const ended = await session.run('process.kill(process.pid, 9)', { language: 'javascript', timeoutMs: 20_000 });
        expect(ended.outcome).toEqual({ kind: 'kernel-died', signal: 'SIGKILL' });
        expect(performance.now() - began).toBeLessThan(10_000);
      }
    },
  },
  {
    id: 'limit:supervisor-memory',
    tag: 'driver',
    title: 'files with long names do not fill the memory of the supervisor, however many executions are under way',
    exempt: { bare: 'process 1 is the host’s own' },
    prove: async ({ fresh, target }) => {
      const session = await fresh({ limits: { memoryBytes: 256 * MiB } });
      const resident = 'awk "/VmRSS/ { print \\$2 }" /proc/1/status';
      const kibibytes = async () => Number((await session.run(resident, { language: 'bash' })).stdout);
      const before = await kibibytes();
      await stdoutOf(
        session,
        longNames(target.slow === true ? 4_000 : strength({ plain: 6_000, all: 19_900 })),
        60_000,
      );
      const others = [
        session.run('open("begun", "w").close()\nimport time\nwhile not os.path.exists("go"): time.sleep(0.02)'),
        session.run(
          'const fs = require("fs"); while (!fs.existsSync("go")) await new Promise((done) => setTimeout(done, 20))',
          {
            language: 'javascript',
          },
        ),
      ];
      await untilThere(session, 'begun');
      expect((await kibibytes()) - before).toBeLessThan(48 * 1024);
      await session.files.write('go', '');
      for (const other of await Promise.all(others)) expect(other.outcome.kind).toBe('ok');
    },
  },
];

/** A daemon that waits for `go`, then starts four processes of 100 MB one after the other, and says in the end how many live. */
const CROWD = `import os, time
if os.fork() == 0:
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 1); os.dup2(null, 2)
    while not os.path.exists("go"): time.sleep(0.02)
    children = []
    for number in range(4):
        ready, tell = os.pipe()
        child = os.fork()
        if child == 0:
            block = bytearray(100 << 20)
            for at in range(0, len(block), 4096): block[at] = 1
            os.write(tell, b"x")
            time.sleep(60)
            os._exit(0)
        os.close(tell)
        os.read(ready, 1)  # or it was ended
        children.append(child)
        time.sleep(0.7)
    with open("count", "w") as file: file.write(str(sum(os.waitpid(child, os.WNOHANG)[0] == 0 for child in children)))
    os.rename("count", "living")
    for child in children:
        try: os.kill(child, 9)
        except OSError: pass
    os._exit(0)`;

const STOPPERS = `import os, signal, time
def parent_of_node():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try: name, rest = open(f"/proc/{pid}/stat").read().split("(", 1)[1].rsplit(")", 1)
        except (OSError, IndexError): continue
        if name == "node": return int(rest.split()[1])
end = time.monotonic() + 60
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        while time.monotonic() < end:
            parent = parent_of_node()
            if parent is None: time.sleep(0.02); continue
            try:
                os.sched_setscheduler(parent, os.SCHED_IDLE, os.sched_param(0))
            except (OSError, AttributeError): pass
            try:
                for _ in range(100_000): os.kill(parent, signal.SIGSTOP)
            except OSError: pass
        os._exit(0)`;

/** As long as paths may be. One letter beyond the basic plane makes each character four bytes for a Python that decodes it. */
function longNames(count: number): string {
  return `import os
folder = "\\U0001f600".encode() + b"\\xff" * 250
depth = 0
while 10 + 255 * (depth + 1) < 3800:
    os.mkdir(folder); os.chdir(folder); depth += 1
for number in range(${count}): os.mknod(b"%05d" % number + b"\\xff" * 249, 0o100600)
os.chdir("/workspace")`;
}

async function living(session: Session): Promise<number> {
  await untilThere(session, 'living');
  return Number(await session.files.read('living'));
}

async function untilThere(session: Session, path: string): Promise<void> {
  const paths = async () => (await session.files.list()).entries.map((entry) => entry.path);
  await expect.poll(paths, { timeout: 60_000 }).toContain(path);
}
