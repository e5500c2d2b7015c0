import { expect } from 'vitest';
import type { Session } from '../../../src/sessions/session.ts';
import type { Requirement } from '../context.ts';

/** Executions of different kernels at once. Files are the only clock: each side waits for what the other has written. */
export const parallelRequirements: readonly Requirement[] = [
  {
    id: 'parallel:overlap',
    tag: 'guest',
    title: 'executions of different languages run at once: each waits for a file that the other writes',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const [python, bash] = await Promise.all([
        session.run(`open("of-python", "w").close()\n${pythonWaits('of-bash')}\nprint("python")`),
        session.run(`${bashWaits('of-python')}; echo > of-bash; echo bash`, { language: 'bash' }),
      ]);
      expect(python).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'python\n', stderr: '' });
      expect(bash).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'bash\n', stderr: '' });
    },
  },
  {
    id: 'parallel:one-kernel',
    tag: 'guest',
    title: 'one kernel runs one execution at a time, in order, and the one that waits says for what',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const first = session.run(`${pythonWaits('go')}\nopen("order", "a").write("1")`);
      const second = session.run('open("order", "a").write("2")');
      await expect.poll(() => second.waitsFor()).toMatchObject({ executionId: first.id, since: expect.any(Date) });
      expect(first.waitsFor()).toBeUndefined();
      await expect(session.run('1', { busy: 'refuse' })).rejects.toMatchObject({ code: 'session_busy' });
      await session.run('echo > go', { language: 'bash', busy: 'refuse' });
      await Promise.all([first, second]);
      expect(String(await session.files.read('order'))).toBe('12');
    },
  },
  {
    id: 'parallel:interrupt',
    tag: 'guest',
    title: 'an interrupt and a time limit end their own execution, with what it started, and nothing of the other',
    prove: async ({ fresh }) => {
      const session = await fresh();
      // The daemon of each has left its session and its parent: only its ancestry tells whose it is.
      const python = session.run(
        `import subprocess\nsubprocess.run("(setsid sleep 4716 &)", shell=True)\nopen("begun", "w").close()\n${pythonWaits('go')}\nprint("unharmed")`,
      );
      const late = await session.run(`${bashWaits('begun')}; (setsid sleep 4717 &); sleep 60`, {
        language: 'bash',
        timeoutMs: 2_000,
      });
      expect(late.outcome).toMatchObject({ kind: 'timed-out' });
      const left =
        'for p in /proc/[0-9]*; do tr "\\0" " " < $p/cmdline; echo; done 2>/dev/null | grep -o "^sleep 47.*" || true';
      expect((await session.run(left, { language: 'bash' })).stdout.trim()).toBe('sleep 4716');
      await session.run('echo > go', { language: 'bash' });
      expect(await python).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'unharmed\n' });

      const controller = new AbortController();
      const cancelled = session.run('import time\nprint("begun", flush=True)\ntime.sleep(60)', {
        signal: controller.signal,
      });
      const bash = session.run(`(setsid sleep 4718 &); ${bashWaits('again')}; echo unharmed`, { language: 'bash' });
      for await (const event of cancelled) if (event.kind === 'stdout') controller.abort();
      expect(await cancelled).toMatchObject({ outcome: { kind: 'interrupted' }, state: 'kept' });
      await session.run('open("again", "w").close()');
      expect(await bash).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'unharmed\n' });
      expect((await session.run(left, { language: 'bash' })).stdout).toContain('sleep 4718');
    },
  },
  {
    id: 'parallel:job-control',
    tag: 'guest',
    title: 'a shell with job control does not see its jobs stop while an execution of another kernel is ended',
    prove: async ({ impatient }) => {
      const session = await impatient();
      const bash = session.run('mkfifo pipe; set -m; echo > begun; cat pipe; echo "status $?"', { language: 'bash' });
      await begun(session, ['begun']);
      const stubborn =
        'import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(0.01)';
      for (let round = 0; round < 3; round += 1) {
        expect((await session.run(stubborn, { timeoutMs: 200 })).outcome.kind).toBe('timed-out');
      }
      await session.run('open("pipe", "w").close()');
      expect(await bash).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'status 0\n', stderr: '' });
    },
  },
  {
    id: 'parallel:fleeing',
    tag: 'guest',
    title:
      'a daemon that flees from its end by forking again and again is ended with its execution, beside one that runs on',
    exempt: { bare: 'without a pid namespace, processes of others end all the time, and no look proves anything' },
    prove: async ({ impatient }) => {
      const session = await impatient();
      await session.files.write('flee.py', FLEE);
      for (const [language, beside] of [
        ['bash', 'python'],
        ['python', 'bash'],
      ] as const) {
        const waits =
          beside === 'bash' ? `${bashWaits('go')}; echo unharmed` : `${pythonWaits('go')}\nprint("unharmed")`;
        const other = session.run(waits, { language: beside });
        const flee = 'python3 flee.py &\nwhile :; do sleep 1; done';
        const code =
          language === 'bash' ? flee : `import subprocess\nsubprocess.run(["bash", "-c", ${JSON.stringify(flee)}])`;
        const run = session.run(code, { language, timeoutMs: 1_500 });
        await begun(session, ['beat']);
        expect((await run).outcome.kind).toBe('timed-out');
        await session.files.remove('beat');
        await session.files.write('go', '');
        expect(await other).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'unharmed\n' });
        // It would have made the file again thousands of times.
        const later = await session.run('sleep 0.3; ls', { language: 'bash' });
        expect(later.stdout.split('\n')).not.toContain('beat');
        await session.files.remove('go');
      }
    },
  },
  {
    id: 'parallel:reset',
    tag: 'guest',
    title: 'a reset ends the executions of all kernels',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const running = [
        session.run('open("python", "w").close()\nimport time\ntime.sleep(60)'),
        session.run('echo > bash; sleep 60', { language: 'bash' }),
      ];
      await begun(session, ['python', 'bash']);
      await session.reset();
      for (const ended of await Promise.all(running)) {
        expect(ended).toMatchObject({ outcome: { kind: 'interrupted' }, state: 'lost' });
      }
      expect((await session.run('1')).value?.text).toBe('1');
    },
  },
  {
    id: 'parallel:output',
    tag: 'guest',
    title: 'the output of one never appears in the streams of the other',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const count = 3_000;
      const [python, bash] = await Promise.all([
        session.run(
          `import sys\nfor i in range(${count}): print("p" * 20, file=(sys.stdout, sys.stderr)[i % 2], flush=i % 50 == 0)`,
        ),
        session.run(`for ((i = 0; i < ${count / 2}; i++)); do echo bbbbbbbbbb; echo bbbbbbbbbb >&2; done`, {
          language: 'bash',
        }),
      ]);
      for (const [result, letter] of [
        [python, 'p'],
        [bash, 'b'],
      ] as const) {
        expect(result.outcome).toEqual({ kind: 'ok' });
        expect(new Set(result.stdout.replaceAll('\n', ''))).toEqual(new Set([letter]));
        expect(new Set(result.stderr.replaceAll('\n', ''))).toEqual(new Set([letter]));
      }
    },
  },
  {
    id: 'parallel:files',
    tag: 'guest',
    title: 'a file is reported by each execution during which it changed, and by no other',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const python = session.run(`open("early", "w").write("1")\nopen("begun", "w").close()\n${pythonWaits('go')}`);
      await begun(session, ['begun']);
      const bash = await session.run('echo 2 > shared', { language: 'bash' });
      expect(bash.artifacts.map(({ path }) => path)).toEqual(['shared']);
      const last = await session.run('echo > go', { language: 'bash' });
      expect(last.artifacts.map(({ path }) => path)).toEqual(['go']);
      expect((await python).artifacts.map(({ path }) => path)).toEqual(['begun', 'early', 'go', 'shared']);
      expect((await session.run('1')).artifacts).toEqual([]);
    },
  },
];

const FLEE = `import os
os.setsid()
while True:
    open("beat", "a").close()
    if os.fork() != 0: os._exit(0)`;

function pythonWaits(path: string): string {
  return `import os, time\nwhile not os.path.exists("${path}"): time.sleep(0.01)`;
}

function bashWaits(path: string): string {
  return `until [ -e ${path} ]; do sleep 0.02; done`;
}

/** Waits until executions have made these files. */
async function begun(session: Session, paths: readonly string[]): Promise<void> {
  const names = async () => (await session.files.list()).entries.map(({ path }) => path);
  await expect.poll(names, { timeout: 20_000 }).toEqual(expect.arrayContaining([...paths]));
}
