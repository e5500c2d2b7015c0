import { expect } from 'vitest';
import type { ExecutionOptions, Session } from '../../../src/index.ts';
import { type Requirement, stdoutOf } from '../context.ts';
import { LIVE_SLEEPS } from './interrupts.ts';

export const bashRequirements: readonly Requirement[] = [
  {
    id: 'bash:state',
    tag: 'guest',
    title: 'folder, variables, arrays, functions, aliases, options and exported names live on',
    prove: async ({ fresh }) => {
      const bash = runner(await fresh());
      await bash('mkdir -p d/e; cd d/e; x=1; list=(a "b c"); declare -A map=([k]="v w"); export OUT=side');
      await bash('greet() {\n  echo "hello $1, $x"\n}\nalias shout="echo LOUD"; set -o noglob; umask 027');
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is bash
      const asks = 'greet you; shout; echo "${PWD##*/} ${list[1]} ${map[k]}"; sh -c "echo \\$OUT"; echo *; umask';
      const { stdout } = await bash(asks);
      expect(stdout).toBe('hello you, 1\nLOUD\ne b c v w\nside\n*\n0027\n');
    },
  },
  {
    id: 'bash:status',
    tag: 'guest',
    title: 'the exit code of the last command is the outcome, and the next execution can ask for it',
    prove: async ({ session }) => {
      const bash = runner(session);
      expect((await bash('true')).outcome).toEqual({ kind: 'ok' });
      expect((await bash('false; true')).outcome).toEqual({ kind: 'ok' });
      expect((await bash('(exit 42)')).outcome).toEqual({ kind: 'exited', exitCode: 42 });
      expect((await bash('echo $?')).stdout).toBe('42\n');
      expect((await bash('return 7; echo no')).outcome).toEqual({ kind: 'exited', exitCode: 7 });
      expect((await bash('ls /nowhere')).stderr).toMatch(/nowhere/);
    },
  },
  {
    id: 'bash:errors',
    tag: 'guest',
    title: 'errors name the line, also of syntax and in functions of earlier executions, and the shell goes on',
    prove: async ({ session }) => {
      const bash = runner(session);
      const run = await bash('echo before\n\nno-such-command --flag\necho after', { filename: 'my script.sh' });
      expect(run).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'before\nafter\n' });
      expect(run.stderr).toMatch(/my-script\.sh: line 3: no-such-command: command not found/);
      const syntax = await bash('echo one\nif true; then\n  echo two');
      expect(syntax.outcome).toEqual({ kind: 'exited', exitCode: 2 });
      expect(syntax.stderr).toMatch(/line 4: syntax error/);
      await bash('fails() {\n  cd /nowhere\n}', { filename: 'functions.sh' });
      expect((await bash('\n\n\nfails')).stderr).toMatch(/functions\.sh: line 2: cd: \/nowhere/);
      const division = await bash('kept=1\necho $((1 / 0)); echo no');
      expect(division).toMatchObject({ outcome: { kind: 'exited', exitCode: 1 }, stdout: '', state: 'kept' });
      expect((await bash('echo $kept; cat <<EOF\nhere $kept\nEOF')).stdout).toBe('1\nhere 1\n');
    },
  },
  {
    id: 'bash:exit',
    tag: 'guest',
    title: 'exit, set -e and fatal errors end the execution with their code, and the state goes on',
    prove: async ({ fresh }) => {
      const bash = runner(await fresh());
      await bash(
        'x="of the session"; f() { local x=local y=2; exit 3; }; readonly r=1; trap "echo usr1" USR1; cd /tmp',
      );
      expect(await bash('z=1; f; echo no')).toMatchObject({
        outcome: { kind: 'exited', exitCode: 3 },
        stdout: '',
        state: 'kept',
      });
      expect((await bash('echo "$x|$z|$r|$PWD"; kill -USR1 $$; type -t f')).stdout).toBe(
        'of the session|1|1|/tmp\nusr1\nfunction\n',
      );
      const careful = await bash('set -euo pipefail\necho a\nfalse | true\necho b');
      expect(careful).toMatchObject({ outcome: { kind: 'exited', exitCode: 1 }, stdout: 'a\n', state: 'kept' });
      const unbound = await bash('echo "$x"\necho "$unset"\necho b');
      expect(unbound).toMatchObject({ outcome: { kind: 'exited', exitCode: 1 }, stdout: 'of the session\n' });
      expect(unbound.stderr).toMatch(/line 2: unset: unbound variable/);
      expect((await bash('set +eu; echo "$x"; exit 0')).outcome).toEqual({ kind: 'ok' });
      expect((await bash('echo "$x"')).stdout).toBe('of the session\n');
    },
  },
  {
    id: 'bash:exit-trap',
    tag: 'guest',
    title: 'an EXIT trap runs at the end of the execution that set it; with exit the state is lost, and said to be',
    prove: async ({ fresh }) => {
      const bash = runner(await fresh());
      expect((await bash('x=1; trap "echo done" EXIT; echo body')).stdout).toBe('body\ndone\n');
      expect(await bash('echo "x=$x"')).toMatchObject({ stdout: 'x=1\n', state: 'kept' });
      const left = await bash('trap "echo done" EXIT; exit 4');
      expect(left).toMatchObject({ outcome: { kind: 'exited', exitCode: 4 }, stdout: 'done\n', state: 'lost' });
      expect((await bash('echo "x=$x"; exec true')).stdout).toBe('x=\n');
      expect((await bash('echo alive')).stdout).toBe('alive\n');
    },
  },
  {
    id: 'bash:input',
    tag: 'guest',
    title: 'a command that waits for input gets the end of it',
    prove: async ({ session }) => {
      const result = await runner(session)(
        'cat; read -r line; echo "read: $?"; python3 -c "input()" 2>&1 | tail -n 1',
        {
          timeoutMs: 10_000,
        },
      );
      expect(result).toMatchObject({ outcome: { kind: 'ok' }, stdout: expect.stringContaining('read: 1\nEOFError') });
    },
  },
  {
    id: 'bash:background',
    tag: 'guest',
    title: 'background jobs live on and can be waited for; what they print later is in no other execution',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const bash = runner(session);
      const later = '(until [ -e go ]; do sleep 0.02; done; echo late; echo worse >&2; exit 5) & job=$!; echo now';
      const begun = await bash(later);
      expect(begun).toMatchObject({ stdout: 'now\n', stderr: '' });
      const next = await bash('touch go; echo next; wait $job; echo "job ended with $?"');
      expect(next).toMatchObject({ stdout: 'next\njob ended with 5\n', stderr: '' });
      await expect.poll(() => session.backgroundOutput()).toMatch(/late\n.*worse\n|worse\n.*late\n/s);
      await bash('sleep 4716 & sleeper=$!');
      expect((await bash('kill $sleeper; wait $sleeper 2>/dev/null; echo $?')).stdout).toBe('143\n');
    },
  },
  {
    id: 'bash:interrupt',
    tag: 'guest',
    title:
      'a time limit ends a waiting command, a loop of the shell and a child that ignores SIGINT, and keeps the state',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const bash = runner(session);
      await bash('x=kept; f() { local x=hidden; sleep 1000; }; cd /tmp');
      for (const code of [
        'sleep 1000; echo no',
        'f; echo no',
        'while :; do :; done',
        'while :; do sleep 0.1; done',
        'cat /dev/zero | tr "\\0" x | wc -c',
        `python3 -c 'import signal, time; signal.signal(2, signal.SIG_IGN); time.sleep(100)'`,
      ]) {
        const startedAt = performance.now();
        const limitMs = code.startsWith('python3') ? 400 : 150; // it must have begun to ignore the signal
        const result = await bash(code, { timeoutMs: limitMs });
        expect(performance.now() - startedAt, code).toBeLessThan(5_400);
        expect(result, code).toMatchObject({ outcome: { kind: 'timed-out', limitMs }, state: 'kept', stdout: '' });
        expect((await bash('echo "$x $PWD"')).stdout, code).toBe('kept /tmp\n');
      }
      const controller = new AbortController();
      const running = session.run('echo begun; sleep 1000', { language: 'bash', signal: controller.signal });
      for await (const event of running) if (event.kind === 'stdout') controller.abort();
      expect((await running).outcome).toEqual({ kind: 'interrupted' });
    },
  },
  {
    id: 'bash:stubborn',
    tag: 'guest',
    title: 'a shell that traps SIGINT, and daemons it left, are dead within five seconds of the limit',
    exempt: { bare: 'sees the processes of the whole host' },
    prove: async ({ impatient }) => {
      const session = await impatient();
      const code = 'trap "" INT; setsid sleep 4717 & (setsid sleep 4718 &); while :; do :; done';
      const result = await session.run(code, { language: 'bash', timeoutMs: 300 });
      expect(result).toMatchObject({ outcome: { kind: 'timed-out' } });
      expect(result.durationMs).toBeLessThan(5_300);
      expect(await stdoutOf(session, LIVE_SLEEPS)).toBe('[]');
    },
  },
  {
    id: 'bash:parent',
    tag: 'guest',
    title: 'a shell that kills the process it was started by does not outlive it',
    exempt: { bare: 'sees the processes of the whole host' },
    prove: async ({ impatient }) => {
      const session = await impatient();
      await session.run('x=1', { language: 'bash' });
      for (const signal of ['KILL', 'STOP']) {
        const code = `trap "" INT TERM; kill -${signal} $PPID; while :; do :; done`;
        const result = await session.run(code, { language: 'bash', timeoutMs: 500 });
        expect(result.state, signal).toBe('lost');
        expect(result.durationMs, signal).toBeLessThan(5_500);
        const live = await stdoutOf(session, LIVE_SHELLS);
        expect(live, signal).toBe('False');
        expect((await session.run('echo "x=$x"', { language: 'bash' })).stdout, signal).toBe('x=\n');
      }
    },
  },
  {
    id: 'bash:flood',
    tag: 'guest',
    title: 'a flood of output is bounded, and input of a megabyte is taken',
    prove: async ({ session }) => {
      const bash = runner(session);
      const flood = await bash('yes | head -c 3000000; echo end >&2');
      expect(flood).toMatchObject({ outcome: { kind: 'ok' }, stderr: 'end\n' });
      expect(flood.stdout.length).toBeLessThan(200_000);
      expect(flood.truncation?.stdoutDroppedBytes).toBeGreaterThan(2_000_000);
      const long = await bash(`x='${'y'.repeat(1_000_000)}'\necho "\${#x}"`);
      expect(long.stdout).toBe('1000000\n');
    },
  },
];

function runner(session: Session) {
  return (code: string, options: ExecutionOptions = {}) => session.run(code, { language: 'bash', ...options });
}

/** Dying takes a moment of the processor. */
const LIVE_SHELLS = `import os, time
def live():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            state = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]
            if state != "Z" and open(f"/proc/{pid}/comm").read() == "bash\\n":
                return True
        except OSError:
            pass
    return False
until = time.monotonic() + 10
while live() and time.monotonic() < until:
    time.sleep(0.02)
print(live())`;
