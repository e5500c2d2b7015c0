import { expect } from 'vitest';
import type { Command, SignalName } from '../../../src/execution/command.ts';
import type { Session } from '../../../src/sessions/session.ts';
import type { Requirement } from '../context.ts';

const TERMINAL = { columns: 80, rows: 24 };

/** Commands: programs beside the kernels. Files and printed words are the only clock. */
export const commandRequirements: readonly Requirement[] = [
  {
    id: 'command:line',
    tag: 'guest',
    title: 'a line runs in a shell, words run without one, and both end as programs do',
    prove: async ({ session }) => {
      expect(
        await session.command('printf "%s|" "$X" "$PWD"; cat; exit 3', {
          cwd: '/tmp',
          environment: { X: "it's $HOME" },
        }),
      ).toMatchObject({
        outcome: { kind: 'exited', exitCode: 3 },
        stdout: "it's $HOME|/tmp|",
        stderr: '',
        state: 'kept',
      });
      expect(await session.command(['printf', '%s|', '$HOME; ls', "it's"])).toMatchObject({
        outcome: { kind: 'ok' },
        stdout: "$HOME; ls|it's|",
      });
      expect(await session.command('kill -TERM $$')).toMatchObject({
        outcome: { kind: 'kernel-died', signal: 'SIGTERM' },
        state: 'kept',
      });
      const failures: [Command, number, string][] = [
        [session.command(['no-such-program']), 127, 'no-such-program: command not found\n'],
        [session.command(['/etc/passwd']), 126, '/etc/passwd: Permission denied\n'],
        [session.command('echo ran', { cwd: 'nowhere' }), 1, 'cwd: nowhere is not an accessible folder\n'],
      ];
      for (const [command, exitCode, stderr] of failures) {
        expect(await command).toMatchObject({ outcome: { kind: 'exited', exitCode }, stdout: '', stderr });
      }
    },
  },
  {
    id: 'command:kernel-closed',
    tag: 'driver',
    title: 'other code of the session cannot write in the process that starts the commands',
    exempt: { bare: 'root may write in every process' },
    prove: async ({ session }) => {
      const pid = (await session.command('echo $PPID')).stdout.trim();
      const attempt = await session.run(
        `try:\n  open("/proc/${pid}/mem", "r+b")\n  got = "open"\nexcept OSError as error:\n  got = type(error).__name__\ngot`,
      );
      expect(attempt.value?.text).toBe("'PermissionError'");
      expect((await session.command('echo $PPID')).stdout.trim()).toBe(pid);
    },
  },
  {
    id: 'command:stdin',
    tag: 'driver',
    title: 'input arrives to its end of file, however long it is, and a command without input reads the end at once',
    prove: async ({ session }) => {
      expect(await session.command('wc -c')).toMatchObject({ outcome: { kind: 'ok' }, stdout: '0\n' });
      const command = session.command('wc -c; echo done', { stdin: true });
      for (let sent = 0; sent < 20; sent += 1) await command.write(Buffer.alloc(100_000, 'x'));
      await command.endInput();
      expect(await command).toMatchObject({ outcome: { kind: 'ok' }, stdout: '2000000\ndone\n' });
      await command.write(Buffer.from('nobody reads this'));
      await command.kill('SIGTERM');
      await expect(session.command('true').write(Buffer.from('x'))).rejects.toMatchObject({ code: 'invalid_argument' });
    },
  },
  {
    id: 'command:backpressure',
    tag: 'driver',
    title: 'a program that does not read holds back whoever writes to it, and nobody else',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const command = session.command('until [ -e go ]; do sleep 0.02; done; wc -c', { stdin: true });
      let accepted = 0;
      const total = 64 * 65_536;
      const writing = (async () => {
        for (; accepted < total; accepted += 65_536) await command.write(Buffer.alloc(65_536, 'x'));
        await command.endInput();
      })();
      await expect.poll(() => accepted).toBeGreaterThan(0);
      // Other traffic goes on beside it, which takes longer than the writer would.
      for (let i = 0; i < 5; i += 1) expect((await session.run('1 + 1')).value?.text).toBe('2');
      expect(await session.command('cat', { stdin: false })).toMatchObject({ outcome: { kind: 'ok' } });
      expect(accepted).toBeLessThan(1_048_576);
      await session.files.write('go', Buffer.from(''));
      await writing;
      expect(await command).toMatchObject({ outcome: { kind: 'ok' }, stdout: `${total}\n` });
    },
  },
  {
    id: 'command:closed-input',
    tag: 'guest',
    title: 'input for a program that reads no more is dropped',
    prove: async ({ session }) => {
      const command = session.command('exec <&-; echo closed; sleep 0.3', { stdin: true });
      await printed(command, 'closed');
      for (let sent = 0; sent < 20; sent += 1) await command.write(Buffer.alloc(100_000));
      expect(await command).toMatchObject({ outcome: { kind: 'ok' } });
    },
  },
  {
    id: 'command:terminal',
    tag: 'driver',
    title: 'a terminal has its size, takes another, and is its program’s controlling terminal',
    prove: async ({ session }) => {
      const command = session.command(
        'exec 2>/dev/null; [ -t 0 ] && [ -t 1 ] && echo both; stty size; echo $TERM; env | grep -cE "^(COLUMNS|LINES)="; trap "stty size; exit" WINCH; echo ready >/dev/tty; while :; do sleep 0.05; done',
        { terminal: { columns: 91, rows: 33 } },
      );
      await printed(command, 'ready');
      expect(command.partial().stdout).toBe('both\n33 91\nxterm-256color\n0\nready\n');
      await command.resize({ columns: 100, rows: 40 });
      const result = await command;
      expect(result).toMatchObject({ outcome: { kind: 'ok' }, stderr: '' });
      expect(result.stdout).toContain('40 100');
      await expect(session.command('true').resize(TERMINAL)).rejects.toMatchObject({ code: 'invalid_argument' });
    },
  },
  {
    id: 'command:terminal-output',
    tag: 'driver',
    title: 'all that a program printed to a terminal arrives, however it ended, and its end of input is a character',
    prove: async ({ session }) => {
      const long = session.command('stty -onlcr; seq 1 30000', { terminal: TERMINAL });
      let printedChars = 0;
      for await (const event of long) if (event.kind === 'stdout') printedChars += event.text.length;
      expect((await long).stdout.endsWith('29999\n30000\n')).toBe(true);
      expect(printedChars).toBe(168_894);
      const cat = session.command('cat', { terminal: TERMINAL });
      await cat.write(Buffer.from('a line\n'));
      await cat.endInput();
      expect(await cat).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'a line\na line\n' });
    },
  },
  {
    id: 'command:job-control',
    tag: 'driver',
    title: 'Ctrl-C ends the foreground job and not its shell; Ctrl-Z stops it, and fg goes on with it',
    prove: async ({ session }) => {
      const shell = session.command(['bash', '--norc', '--noprofile', '-i'], {
        terminal: TERMINAL,
        environment: { PS1: '' },
      });
      const say = (line: string) => shell.write(Buffer.from(line));
      await say('stty -echo; echo "begin"; sh -c "echo one-begun; exec sleep 61"\n');
      await printed(shell, 'one-begun\n');
      await say('\x03');
      await say('echo "status-$?"; sh -c "echo two-begun; exec sleep 0.5"; echo "job-$?"\n');
      await printed(shell, 'two-begun\n');
      expect(shell.partial().stdout).toContain('status-130');
      await say('\x1a');
      await printed(shell, 'Stopped');
      await say('fg >/dev/null; echo "fg-$?"; exit 5\n');
      expect(await shell).toMatchObject({ outcome: { kind: 'exited', exitCode: 5 } });
      expect(shell.partial().stdout).toContain('fg-0');
    },
  },
  {
    id: 'command:signal',
    tag: 'driver',
    title: 'a signal reaches the command’s group, or the foreground job of its terminal, and nothing else',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const other = session.command(
        'trap "echo hit; exit 9" USR1; echo begun; until [ -e go ]; do sleep 0.02; done; echo unharmed',
      );
      const command = session.command('trap "echo got; exit 4" USR1; echo begun; while :; do sleep 0.02; done');
      await Promise.all([printed(other, 'begun'), printed(command, 'begun')]);
      await command.kill('SIGUSR1');
      expect(await command).toMatchObject({ outcome: { kind: 'exited', exitCode: 4 }, stdout: 'begun\ngot\n' });
      expect(await statusAfter(session, 'SIGINT')).toContain('status-130');
      const stopped = session.command('sleep 61');
      await stopped.kill('SIGKILL');
      expect((await stopped).outcome).toEqual({ kind: 'kernel-died', signal: 'SIGKILL' });
      await session.files.write('go', Buffer.from(''));
      expect(await other).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'begun\nunharmed\n' });
    },
  },
  {
    id: 'command:signal-foreground',
    tag: 'driver',
    title: 'a signal that no key sends reaches the foreground job of a terminal as well',
    exempt: {
      gvisor: 'its kernel does not tell which job is in the foreground: the signal goes to the command itself',
    },
    prove: async ({ session }) => {
      expect(await statusAfter(session, 'SIGTERM')).toContain('status-143');
    },
  },
  {
    id: 'command:fleeing',
    tag: 'guest',
    title: 'what flees from the end of its command by forking is ended, also beside the terminal of somebody else',
    exempt: { bare: 'it has no process namespace of its own to look through' },
    prove: async ({ impatient }) => {
      const session = await impatient();
      const shell = session.command(['bash', '--norc', '--noprofile', '-i'], { terminal: TERMINAL });
      await shell.write(Buffer.from('stty -echo; sh -c "echo job-begun; exec sleep 61"\n'));
      await printed(shell, 'job-begun\n');
      const fleeing = 'import os, time\nif os.fork(): time.sleep(60)\nwhile True:\n  if os.fork(): os._exit(0)';
      const fled = await session.command(['python3', '-c', fleeing], { timeoutMs: 1_000 });
      expect(fled.outcome.kind).toBe('timed-out');
      const pythons = 'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" "\\n" | grep -c "import os, tim[e]"';
      // What was killed may still be on its way out; what fled would be there for ever.
      await expect.poll(async () => (await session.command(pythons)).stdout, { timeout: 10_000 }).toBe('0\n');
    },
  },
  {
    id: 'command:undisturbed',
    tag: 'guest',
    title: 'no job of a shell is taken for a stopped one while other executions are interrupted',
    exempt: { bare: 'it has no process namespace of its own to look through' },
    prove: async ({ session }) => {
      const shell = session.command(['bash', '--norc', '--noprofile', '-i'], { terminal: TERMINAL });
      await shell.write(Buffer.from('stty -echo; sh -c "echo job-begun; exec sleep 61"\n'));
      await printed(shell, 'job-begun\n');
      for (let ended = 0; ended < 15; ended += 1) await session.run('import time\ntime.sleep(60)', { timeoutMs: 60 });
      expect(shell.partial().stdout).not.toContain('Stopped');
      await shell.kill('SIGINT');
      await shell.write(Buffer.from('echo "status-$?"; exit\n'));
      expect((await shell).stdout).toContain('status-130');
    },
  },
  {
    id: 'command:beside',
    tag: 'driver',
    title: 'two commands run at once, beside Python: each waits for a file of the next',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const waits = (path: string) => `until [ -e ${path} ]; do sleep 0.02; done`;
      const [python, first, second] = await Promise.all([
        session.run(
          'import os, time\nwhile not os.path.exists("of-second"): time.sleep(0.01)\nopen("of-python", "w").close()\nprint("python")',
        ),
        session.command(`${waits('of-python')}; echo first`),
        session.command('echo > of-second; echo second'),
      ]);
      expect(python).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'python\n' });
      expect(first).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'first\n', stderr: '' });
      expect(second).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'second\n', stderr: '' });
    },
  },
  {
    id: 'command:limit',
    tag: 'guest',
    title: 'more than 32 commands at once are refused, and the others go on',
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { processes: 256 } });
      const commands = Array.from({ length: 32 }, () => session.command('cat', { stdin: true }));
      await Promise.all(commands.map((command) => command.write(Buffer.from('x'))));
      await expect(session.command('true')).rejects.toMatchObject({ code: 'too_many_executions' });
      await Promise.all(commands.map((command) => command.endInput()));
      for (const command of commands) expect(await command).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'x' });
      expect(await session.command('echo again')).toMatchObject({ stdout: 'again\n' });
    },
  },
  {
    id: 'command:deadline',
    tag: 'driver',
    title: 'each command has its own time limit, whose ladder ends what that command started and nothing else',
    prove: async ({ impatient }) => {
      const session = await impatient();
      const other = session.command(
        '(setsid sleep 4731 &); echo begun; until [ -e go ]; do sleep 0.02; done; echo unharmed',
      );
      const python = session.run(
        'import subprocess, os, time\nsubprocess.run("(setsid sleep 4732 &)", shell=True)\nwhile not os.path.exists("go"): time.sleep(0.01)\nprint("unharmed")',
      );
      await printed(other, 'begun');
      const late = session.command('trap "" INT; (setsid sleep 4733 &); sleep 61 & sleep 62', { timeoutMs: 600 });
      expect(await late).toMatchObject({ outcome: { kind: 'timed-out', limitMs: 600 }, state: 'kept' });
      const terminal = session.command('trap "" INT HUP; sleep 63; sleep 64', { terminal: TERMINAL, timeoutMs: 600 });
      expect((await terminal).outcome).toMatchObject({ kind: 'timed-out' });
      expect(await sleeping(session)).toEqual(['4731', '4732']);
      await session.files.write('go', Buffer.from(''));
      expect(await other).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'begun\nunharmed\n' });
      expect(await python).toMatchObject({ outcome: { kind: 'ok' }, stdout: 'unharmed\n' });
    },
  },
  {
    id: 'command:background',
    tag: 'driver',
    title: 'what a command leaves in the background lives on, is nobody else’s to end, and ends with a reset',
    prove: async ({ impatient }) => {
      const session = await impatient();
      const python = session.run(
        'import time\nprint("begun", flush=True)\nwhile True:\n  try: time.sleep(61)\n  except KeyboardInterrupt: pass',
        { timeoutMs: 1_500 },
      );
      for await (const event of python) if (event.kind === 'stdout') break;
      expect(await session.command('sleep 4741 & (setsid sleep 4742 &) ; echo left')).toMatchObject({
        stdout: 'left\n',
      });
      expect((await python).outcome.kind).toBe('timed-out');
      expect(await sleeping(session)).toEqual(['4741', '4742']);
      await session.reset();
      await expect.poll(() => sleeping(session)).toEqual([]);
    },
  },
  {
    id: 'command:reset',
    tag: 'guest',
    title: 'a reset ends commands as it ends executions, and a cancelled one is interrupted',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const command = session.command('echo begun; sleep 61', { terminal: TERMINAL });
      await printed(command, 'begun');
      await session.reset();
      expect((await command).outcome).toEqual({ kind: 'interrupted' });
      const controller = new AbortController();
      const cancelled = session.command('echo begun; sleep 61', { signal: controller.signal });
      await printed(cancelled, 'begun');
      controller.abort();
      expect((await cancelled).outcome).toEqual({ kind: 'interrupted' });
      expect(await session.command('echo again')).toMatchObject({ stdout: 'again\n' });
    },
  },
  {
    id: 'command:files',
    tag: 'guest',
    title: 'a command names the files that it changed',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const { artifacts } = await session.command('echo 1 > made');
      expect(artifacts.map(({ path }) => path)).toEqual(['made']);
    },
  },
  {
    id: 'command:own-devpts',
    tag: 'driver',
    title: 'terminals are the sandbox’s own: none of another session or of the host is to be seen, nor typed into',
    exempt: { bare: 'it sees the terminals of the whole host' },
    prove: async ({ fresh }) => {
      const [mine, other] = [await fresh(), await fresh()];
      const neighbour = other.command('tty; cat', { terminal: TERMINAL });
      await printed(neighbour, '/dev/pts/');
      const command = await mine.command('ls /dev/pts; tty', { terminal: TERMINAL });
      expect(command.stdout.replaceAll('ptmx', '').split(/\s+/).filter(Boolean)).toEqual(['0', '/dev/pts/0']);
      const typing = await mine.command(
        [
          'python3',
          '-c',
          'import fcntl, termios\ntry: fcntl.ioctl(0, termios.TIOCSTI, b"x")\nexcept OSError as e: print("refused")',
        ],
        { terminal: TERMINAL },
      );
      expect(typing.stdout).toBe('refused\n');
      const descriptors = await mine.command('ls -l /proc/self/fd /proc/$PPID/fd 2>&1 | grep -c ptmx', {
        terminal: TERMINAL,
      });
      expect(descriptors.stdout.trim()).toBe('0');
      await neighbour.endInput();
      expect((await neighbour).outcome).toEqual({ kind: 'ok' });
    },
  },
];

/** Waits until a command has printed that. */
async function printed(command: Command, text: string): Promise<void> {
  await expect.poll(() => command.partial().stdout, { timeout: 20_000, interval: 10 }).toContain(text);
}

/** What an interactive shell printed whose foreground job got a signal. */
async function statusAfter(session: Session, signal: SignalName): Promise<string> {
  const shell = session.command(['bash', '--norc', '--noprofile', '-i'], { terminal: TERMINAL });
  await shell.write(Buffer.from('stty -echo; sh -c "echo job-begun; exec sleep 61"\n'));
  await printed(shell, 'job-begun\n');
  await shell.kill(signal);
  await shell.write(Buffer.from('echo "status-$?"; exit\n'));
  return (await shell).stdout;
}

/** The numbers of those `sleep` that run, as this suite starts them. */
async function sleeping(session: Session): Promise<string[]> {
  const look =
    'for p in /proc/[0-9]*; do tr "\\0" " " < $p/cmdline; echo; done 2>/dev/null | grep -o "^sleep 47[0-9]*" | cut -d" " -f2 | sort';
  return (await session.command(look)).stdout.split('\n').filter(Boolean);
}
