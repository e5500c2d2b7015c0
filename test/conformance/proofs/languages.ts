import { expect } from 'vitest';
import { type Requirement, stdoutOf } from '../context.ts';

export const languageRequirements: readonly Requirement[] = [
  {
    id: 'language:side-by-side',
    tag: 'guest',
    title: 'kernels of several languages live side by side: each keeps its own state, and all share the workspace',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const bash = (code: string) => session.run(code, { language: 'bash' });
      await session.run('x = "of Python"\nopen("a.txt", "w").write(x)');
      const read = await bash('x="of bash, which read: $(cat a.txt)"; echo "$x" > b.txt');
      expect(read).toMatchObject({ language: 'bash', outcome: { kind: 'ok' }, state: 'kept' });
      expect(read.artifacts.map(({ path }) => path)).toEqual(['b.txt']);
      const again = await session.run('print(x, "|", open("b.txt").read().strip())');
      expect(again).toMatchObject({ language: 'python', stdout: 'of Python | of bash, which read: of Python\n' });
      expect((await bash('echo "$x"')).stdout).toBe('of bash, which read: of Python\n');
    },
  },
  {
    id: 'language:apart',
    tag: 'guest',
    title: 'a kernel that dies costs the others nothing, and the result speaks of the one that ran',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run('x = 1');
      await session.run('y=2', { language: 'bash' });
      const died = await session.run('kill -9 $$', { language: 'bash' });
      expect(died).toMatchObject({ outcome: { kind: 'kernel-died', signal: 'SIGKILL' }, state: 'lost', files: 'kept' });
      expect((await session.run('x')).value?.text).toBe('1');
      expect((await session.run('echo "y=$y"', { language: 'bash' })).stdout).toBe('y=\n');
      await session.run('y=3', { language: 'bash' });
      expect(await session.run('import os; os._exit(1)')).toMatchObject({ state: 'lost' });
      expect((await session.run('echo "y=$y"', { language: 'bash' })).stdout).toBe('y=3\n');
      const doomed = 'echo $$ $PPID\n(until [ -e go ]; do sleep 0.02; done; kill -9 $$) >/dev/null 2>&1 &';
      const idle = await session.run(doomed, { language: 'bash' });
      expect(idle).toMatchObject({ stdout: expect.stringMatching(/^\d+ \d+\n$/), state: 'kept' });
      // The shell, and who started it, which is gone only when the supervisor knows.
      await session.run(`import os, time
open("go", "w").close()
while any(os.path.exists(f"/proc/{pid}") for pid in "${idle.stdout.trim()}".split()): time.sleep(0.02)`);
      const after = await session.run('echo "y=$y"', { language: 'bash' });
      expect(after).toMatchObject({ stdout: 'y=\n', restarted: expect.stringContaining('idle') });
    },
  },
  {
    id: 'language:reset',
    tag: 'guest',
    title: 'a reset ends the kernels of all languages and keeps the files',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run('x = 1');
      await session.run('y=2; echo kept > f.txt; sleep 4715 &', { language: 'bash' });
      await session.reset();
      expect((await session.run('x')).outcome).toMatchObject({ kind: 'raised', name: 'NameError' });
      expect((await session.run('echo "y=$y"; cat f.txt', { language: 'bash' })).stdout).toBe('y=\nkept\n');
      const endless = session.run('while :; do :; done', { language: 'bash', timeoutMs: 20_000 });
      setTimeout(() => void session.reset().catch(() => {}), 300);
      expect(await endless).toMatchObject({ outcome: { kind: 'interrupted' }, state: 'lost' });
      expect((await session.run('1 + 1')).value?.text).toBe('2');
    },
  },
  {
    id: 'language:unknown',
    tag: 'guest',
    title: 'a language that is not known is an error that names those that are; names are taken as people write them',
    prove: async ({ session }) => {
      const running = session.run('x', { language: 'cobol' });
      await expect(running).rejects.toMatchObject({ code: 'unknown_language', data: { known: expect.any(Array) } });
      await expect(running).rejects.toMatchObject({ remedy: expect.stringContaining('python, bash') });
      expect(await session.run('1', { language: 'PY' })).toMatchObject({ language: 'python' });
    },
  },
  {
    id: 'language:missing',
    tag: 'driver',
    title: 'a language whose commands the sandbox lacks is an outcome that names them, and costs nothing',
    prove: async ({ session }) => {
      await session.run('x = 5');
      const { outcome, state } = await session.run('whatever', { language: 'made-up' });
      expect(outcome).toMatchObject({ kind: 'unavailable', missing: ['made-up-compiler'] });
      expect(outcome.kind === 'unavailable' && outcome.hint).toMatch(/apt-get install made-up/);
      expect(state).toBe('kept');
      expect((await session.run('x')).value?.text).toBe('5');
      const languages = new Map((await session.languages()).map((language) => [language.name, language]));
      expect(languages.get('made-up')).toMatchObject({ available: false, missing: ['made-up-compiler'] });
      expect(languages.get('python')).toMatchObject({ available: true, keepsState: true, missing: [] });
      expect(languages.get('bash')).toMatchObject({ available: true, keepsState: true });
    },
  },
  {
    id: 'language:barriers',
    tag: 'driver',
    title: 'every kernel stands behind the same barriers, with the same limits, and holds no descriptor of ours',
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { openFiles: 123 } });
      const python = await stdoutOf(session, `import os\nos.system("""${FENCES}""")`);
      for (const language of ['bash', 'sh']) {
        const result = await session.run(FENCES, { language });
        expect(result.stdout.trim(), language).toBe(python);
      }
      expect(python).toContain('Max open files 123 123');
      for (const language of ['bash', 'sh']) {
        // A subshell of a pipe, so that what lists them adds nothing but its own.
        const open = await session.run('ls /proc/self/fd | tr "\\n" " "', { language });
        expect(open.stdout, language).toBe('0 1 2 3 ');
      }
    },
  },
];

const FENCES = `grep -E '^(CapEff|CapBnd|CapPrm|NoNewPrivs|Seccomp|Uid|Gid):' /proc/self/status
grep -E '^Max (open files|file size|core file size|processes)' /proc/self/limits | tr -s ' '
cat /proc/self/oom_score_adj
pwd`;
