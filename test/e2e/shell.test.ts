import { execFileSync } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TerminalProgram } from '../support/terminal.ts';
import { type BuiltHotcell, buildHotcell } from './built-hotcell.ts';
import { type BuiltServer, startServer } from './http-server.ts';

const CTRL = { c: '\x03', d: '\x04', z: '\x1a' };

let hotcell: BuiltHotcell;
let server: BuiltServer;
let client: Awaited<ReturnType<BuiltServer['client']>>;
beforeAll(async () => {
  hotcell = await buildHotcell();
  if (hotcell.unavailable !== undefined) return;
  server = await startServer(hotcell);
  client = await server.client('modern');
  await client.callTool({ name: 'open_session', arguments: { name: 'lab' } });
});
afterAll(async () => {
  await client?.close();
  await server?.stop();
  expect(hotcell.leftovers()).toEqual([]);
  hotcell.remove();
});

let terminals: TerminalProgram[] = [];
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});
afterEach(() => {
  for (const terminal of terminals) terminal.kill();
  terminals = [];
});

const args = (...given: readonly string[]) => ['dist/cli.js', 'shell', 'lab', '--server', server.url, ...given];
const piped = (stdin: string, ...given: readonly string[]) => hotcell.run(args(...given), { stdin });

interface Opened extends TerminalProgram {
  enter(line: string, seen: string | RegExp): Promise<void>;
}

function onTerminal(...given: readonly string[]): Opened {
  const terminal = hotcell.onTerminal(given.length > 0 && given[0] === 'dist/cli.js' ? given : args(...given));
  terminals.push(terminal);
  return {
    ...terminal,
    enter: async (line, seen) => {
      terminal.type(`${line}\r`);
      await terminal.see(seen);
    },
  };
}

/** A shell whose prompt is there. The prompt says nothing that a test looks for. */
async function openShell(...given: readonly string[]): Promise<Opened> {
  const shell = onTerminal(...given);
  await shell.see(/[$#] $/m);
  await shell.enter("PS1='> '; echo re''ady", /^ready\n> $/m);
  return shell;
}

interface Listed {
  readonly execution_id: string;
  readonly state: string;
  readonly terminal: boolean;
}

async function list(): Promise<Listed[]> {
  const { stdout } = await piped('', '--list', '--json');
  return JSON.parse(stdout) as Listed[];
}

describe('hotcell shell at a terminal', () => {
  it('gives a shell with a terminal of the real size, which follows it, and ends with its exit code', async () => {
    const shell = await openShell();
    await shell.enter('stty size; tty', /^24 80\n\/dev\/pts\/\d+/m);
    const device = readlinkSync(`/proc/${await shell.pid()}/fd/0`);
    execFileSync('stty', ['-F', device, 'cols', '101', 'rows', '31']);
    await expect
      .poll(async () => {
        shell.type('stty size\r');
        await shell.see(/^\d+ \d+\n> $/m);
        return shell.screen();
      })
      .toMatch(/^31 101$/m);
    await shell.enter('echo $TERM; pwd', /^xterm-256color\n\/workspace/m);
    shell.type('exit 7\r');
    expect(await shell.ended).toBe(7);
  });

  it('Ctrl-C interrupts the foreground job only, Ctrl-Z stops it, Ctrl-D ends the shell', async () => {
    const shell = await openShell();
    await shell.enter('sleep 1001 &', /\[1\] \d+/);
    await shell.enter('echo fo""re; sleep 1002', /^fore$/m);
    shell.type(CTRL.c);
    await shell.enter('echo "code $?"', /^code 130$/m);
    await shell.enter('jobs', /Running\s+sleep 1001/);
    shell.type('sleep 1003\r');
    await shell.see('> sleep 1003');
    await expect
      .poll(async () => {
        shell.type(CTRL.z);
        return shell.screen();
      })
      .toMatch(/Stopped\s+sleep 1003/);
    await shell.enter('kill %1 %2; kill -CONT %2; wait; echo go""ne', /^gone$/m);
    shell.type(CTRL.d);
    expect(await shell.ended).toBe(0);
  });

  it('programs draw on the whole screen, and the title stays as it was', async () => {
    const shell = await openShell();
    await shell.enter(
      "printf '\\033[?1049h\\033]0;owned\\007\\033[5;10Hdrawn'; sleep 0.2; printf '\\033[?1049l'; echo ba''ck",
      /^back$/m,
    );
    expect(shell.written()).toContain('\x1b[?1049h\x1b[5;10Hdrawn');
    expect(shell.written()).not.toContain('\x1b]');
    await shell.enter("stty -opost; printf 'ab\\ncd\\r\\n'; stty opost", /^ab\n {2}cd$/m);
    shell.type(CTRL.d);
    await shell.ended;
  });

  it('detaches with ~. and attaches again to the same shell', async () => {
    const shell = await openShell();
    await shell.enter("kept='the same'; cd /tmp; echo se''t", /^set$/m);
    shell.type('~.');
    expect(await shell.ended).toBe(0);
    const line = /hotcell shell lab --attach (x-\w+) --server (\S+)/.exec(shell.written())!;
    expect(line[2]).toBe(server.url);
    expect(await list()).toContainEqual(expect.objectContaining({ execution_id: line[1], state: 'running' }));
    const again = onTerminal('--attach', line[1]!);
    await again.see('ready'); // what was printed before
    await again.enter('echo "$kept $PWD"', /^the same \/tmp$/m);
    again.type('exit 5\r');
    expect(await again.ended).toBe(5);
    const late = await piped('', '--attach', line[1]!);
    expect(late).toMatchObject({ exitCode: 5, stdout: expect.stringContaining('the same /tmp') });
  });

  it('a client that is killed leaves the command running, and two may sit at one', async () => {
    const shell = await openShell();
    const id = (await list()).findLast(({ state, terminal }) => state === 'running' && terminal)!.execution_id;
    process.kill(await shell.pid(), 'SIGKILL');
    await shell.ended;
    const [first, second] = [onTerminal('--attach', id), onTerminal('--attach', id)];
    await Promise.all([first.see('ready'), second.see('ready')]);
    await first.enter('echo fr""om first', /^from first$/m);
    await second.see(/^from first$/m);
    second.type('exit 3\r');
    expect(await Promise.all([first.ended, second.ended])).toEqual([3, 3]);
  });

  it('works beside code that runs', async () => {
    const running = client.callTool({
      name: 'run_code',
      arguments: {
        session_id: 'lab',
        code: 'import os, time\nwhile not os.path.exists("go"): time.sleep(0.05)\n"went"',
      },
    });
    const shell = await openShell();
    await shell.enter('echo be""side', /^beside$/m);
    await shell.enter('touch go; echo to""uched', /^touched$/m);
    expect(JSON.stringify(await running)).toContain('went');
    shell.type(CTRL.d);
    await shell.ended;
  });

  it('ends with an error when its session is closed', async () => {
    await client.callTool({ name: 'open_session', arguments: { name: 'short' } });
    const shell = await openShell('dist/cli.js', 'shell', 'short', '--server', server.url);
    await client.callTool({ name: 'close_session', arguments: { session_id: 'short' } });
    expect(await shell.ended).toBe(69);
    await expect.poll(() => shell.screen()).toContain('closed');
  });

  it('without a session is a shell in a sandbox of its own, which is deleted', async () => {
    const shell = await openShell('dist/cli.js', 'shell');
    await shell.enter('stty size; touch here; ls', /^24 80\nhere$/m);
    shell.type('exit 4\r');
    expect(await shell.ended).toBe(4);
  });
});

describe('hotcell shell without a terminal', () => {
  it.each([
    ['stdin is piped', 'hi\n', ['cat'], { exitCode: 0, stdout: 'hi\n', stderr: '' }],
    ['the default is a shell', 'echo $((6 * 7))\nexit 6\n', [], { exitCode: 6, stdout: '42\n', stderr: '' }],
  ] as const)('%s', async (_, stdin, given, expected) => {
    expect(await piped(stdin, ...given)).toEqual(expected);
  });

  const silent = [
    ['a line goes to the shell', ['echo a | tr a b; exit 9'], { exitCode: 9, stdout: 'b\n', stderr: '' }],
    [
      'several words are a program',
      ['--', 'printf', '%s|', 'a b', '-c'],
      { exitCode: 0, stdout: 'a b|-c|', stderr: '' },
    ],
    ['stderr is stderr', ['echo out; echo err >&2'], { exitCode: 0, stdout: 'out\n', stderr: 'err\n' }],
    ['there is no terminal', ['tty'], { exitCode: 1, stdout: 'not a tty\n', stderr: '' }],
    ['the folder can be named', ['--cwd', '/tmp', 'pwd'], { exitCode: 0, stdout: '/tmp\n', stderr: '' }],
  ] as const;
  it(silent.map(([what]) => what).join(', '), async () => {
    const all = await hotcell.runEach(silent.map(([, given]) => ({ args: args(...given).slice(1) })));
    for (const [index, [what, , expected]] of silent.entries()) expect(all[index], what).toEqual(expected);
  });

  const faults = [
    ['a program that is not there', ['--', 'no-such-program', 'x'], 127, 'no-such-program'],
    ['a folder that is not there', ['--cwd', 'nowhere', 'ls'], 1, 'cwd'],
    ['a signal', ['kill -9 $$'], 137, 'SIGKILL'],
    ['its timeout', ['--timeout', '300ms', 'sleep 100'], 124, 'timed out'],
  ] as const;
  it('what goes wrong gives the exit code of a shell, and a word about it', async () => {
    const all = await hotcell.runEach(faults.map(([, given]) => ({ args: args(...given).slice(1) })));
    for (const [index, [what, , exitCode, said]] of faults.entries())
      expect(all[index], what).toMatchObject({ exitCode, stderr: expect.stringContaining(said) });
  });

  it('a program that reads late gets all of its input', async () => {
    const { stdout } = await piped('x'.repeat(3_000_000), 'sleep 1; wc -c');
    expect(stdout.trim()).toBe('3000000');
  });

  it('a program that reads nothing ends all the same', async () => {
    expect(await piped('x'.repeat(1_000_000), 'true')).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('SIGINT goes to the command', async () => {
    const child = hotcell.start(args("trap 'echo heard; exit 8' INT; echo up; while :; do sleep 0.05; done"));
    let said = '';
    child.stdout!.on('data', (piece) => {
      said += piece;
      if (said === 'up\n') child.kill('SIGINT');
    });
    const exitCode = await new Promise((resolve) => child.once('close', resolve));
    expect([exitCode, said]).toEqual([8, 'up\nheard\n']);
  });
});

describe('mistakes are told with a remedy', () => {
  it('no server, no such session, no such command', async () => {
    const [absent, session, command] = await hotcell.runEach([
      { args: ['shell', 'lab', '--server', 'http://127.0.0.1:1'] },
      { args: ['shell', 'nowhere', '--server', server.url, 'ls'] },
      { args: args('--attach', 'x-0').slice(1) },
    ]);
    expect(absent).toMatchObject({ exitCode: 69, stderr: expect.stringMatching(/no server responds.*hotcell serve/s) });
    expect(session).toMatchObject({ exitCode: 66, stderr: expect.stringContaining('nowhere') });
    expect(command).toMatchObject({ exitCode: 66, stderr: expect.stringContaining('--list') });
  });

  it('a token of the environment is sent to a server that is named, and to no other', async () => {
    const env = { HOTCELL_TOKEN: 'wrong', HOTCELL_PORT: new URL(server.url).port };
    const named = await hotcell.run(args('echo in'), { env });
    expect(named).toMatchObject({ exitCode: 77, stderr: expect.stringContaining('token') });
    const usual = await hotcell.run(['dist/cli.js', 'shell', 'lab', 'echo in'], { env });
    expect(usual).toMatchObject({ exitCode: 0, stdout: 'in\n' });
  });
});
