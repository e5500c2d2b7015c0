import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TerminalProgram } from '../support/terminal.ts';
import { type BuiltHotcell, buildHotcell } from './built-hotcell.ts';
import { type BuiltServer, startServer } from './http-server.ts';

const CTRL = { c: '\x03', d: '\x04' };

let hotcell: BuiltHotcell;
let server: BuiltServer;
let agent: Awaited<ReturnType<BuiltServer['client']>>;
beforeAll(async () => {
  hotcell = await buildHotcell();
  if (hotcell.unavailable !== undefined) return;
  server = await startServer(hotcell);
  agent = await server.client('modern');
  await agent.callTool({ name: 'open_session', arguments: { name: 'lab' } });
});
afterAll(async () => {
  await agent?.close();
  await server?.stop();
  expect(hotcell.leftovers()).toEqual([]);
  hotcell.remove();
});

let terminal: TerminalProgram | undefined;
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});
afterEach(() => terminal?.kill());

const runCode = (code: string, more: object = {}) =>
  agent.callTool({ name: 'run_code', arguments: { code, session_id: 'lab', ...more } });

async function join(...flags: readonly string[]) {
  const started = hotcell.onTerminal([
    ...['dist/cli.js', 'repl', '--session', 'lab', '--server', server.url, ...flags],
  ]);
  terminal = started;
  await started.see('In [1]:');
  return {
    ...started,
    enter: async (line: string, seen: string | RegExp) => {
      started.type(`${line}\r`);
      await started.see(seen);
    },
  };
}

describe('hotcell repl --session', () => {
  it("runs code among an agent's variables, and leaves the session open", async () => {
    await runCode('found = [1, 2, 3]');
    const { enter, type, see, ended, screen } = await join();
    expect(screen()).toMatch(/session lab at http:\S+[\s\S]+process\s\(level\s+1\)/);
    await enter('print("n =", len(found)); sum(found)', /n = 3\nOut\[1\]: 6\n\nIn \[2\]:/);
    await enter('found.lenght', /AttributeError[\s\S]*In \[3\]:/);
    type('found.app\t');
    await see('found.append');
    await enter('(4)', 'In [4]:');
    await enter('%vars', /^found +list/m);
    await enter('open("note.txt", "w").write("hello")', 'Out[4]: 5');
    await enter('%files', /^5 bytes {2}note\.txt$/m);
    await enter('len?', /signature: \(obj, \/\)/);
    await enter('%save all.ipynb', /cannot be saved from here/);
    type(CTRL.d);
    expect(await ended).toBe(0);
    await see('The session stays open.');
    expect(JSON.stringify(await runCode('found'))).toContain('[1, 2, 3, 4]');
  });

  it('shows what others run, above what is being typed, and nothing of its own twice', async () => {
    const { type, see, screen, enter } = await join();
    type('half typed');
    await see('In [1]: half typed');
    await runCode('for n in range(2):\n    print("agent", n)\n"its value"');
    await see(
      /┌ python\n│ for n in range\(2\):\n│ {5}print\("agent", n\)\n│ "its value"\n├\n│ agent 0\n│ agent 1\n│ 'its value'\n└ ok\nIn \[1\]: half typed$/,
    );
    await runCode('1 / 0');
    await see(/│ ZeroDivisionError: division by zero\n[\s\S]*└ ZeroDivisionError\nIn \[1\]: half typed$/);
    await agent.callTool({ name: 'run_command', arguments: { command: 'echo from the shell', session_id: 'lab' } });
    await see(/┌ shell\n│ echo from the shell\n├\n│ from the shell\n└ ok\nIn \[1\]: half typed$/);
    await enter(' = 1', /SyntaxError/);
    await enter('"once" + "only"', "Out[2]: 'onceonly'");
    expect(screen().match(/onceonly/g)).toHaveLength(1);
    expect(screen()).not.toContain('│ "once"');
  });

  it('shows output as it comes, and lets no escape sequence through', async () => {
    const { see, written, type } = await join();
    const running = runCode('import time\nprint("begun\\x1b]0;owned\\x07\\x1b[5A", flush=True)\ntime.sleep(60)');
    await see(/^│ begun$/m);
    expect(written()).not.toMatch(/\x1b\]|\x1b\[5A/);
    await agent.callTool({ name: 'reset_session', arguments: { session_id: 'lab' } });
    await running;
    await see(/└ .*\nIn \[1\]:/);
    type(CTRL.d);
  });

  it('interrupts its own code at Ctrl-C, and the variables stay', async () => {
    const { type, see, enter } = await join();
    await enter('kept = "kept"', 'In [2]:');
    type('import time; print("runs"); time.sleep(60)\r');
    await see(/^runs$/m);
    type(CTRL.c);
    await see(/KeyboardInterrupt\n[\s\S]*In \[3\]:/);
    await enter('kept', "Out[3]: 'kept'");
  });

  it('follows no link to a file of this machine, because code in the session may have put it there', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'hotcell-joined-'));
    try {
      writeFileSync(path.join(folder, 'key'), 'print("private " + "text")');
      symlinkSync(path.join(folder, 'key'), path.join(folder, 'report.py'));
      const { enter, screen } = await join();
      await enter(`%run ${path.join(folder, 'report.py')}`, /is a symbolic link,\s+which\s+is\s+not\s+followed/);
      expect(screen()).not.toContain('private text');
      await enter(`%run ${path.join(folder, 'key')}`, /^private text$/m);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('says that the session was closed', async () => {
    await agent.callTool({ name: 'open_session', arguments: { name: 'short' } });
    const joined = hotcell.onTerminal(['dist/cli.js', 'repl', '--session', 'short', '--server', server.url]);
    terminal = joined;
    await joined.see('In [1]:');
    await agent.callTool({ name: 'close_session', arguments: { session_id: 'short' } });
    await joined.see('hotcell: the session was closed.');
    joined.type('1\r');
    await joined.see(/error: .*\n/);
    joined.type(CTRL.d);
    expect(await joined.ended).toBe(0);
  });

  it.each([
    [['--session', 'nobodys'], /you have no session nobodys/],
    [['--session', 'lab', '--memory', '1g'], /--memory cannot be used with --session/],
    [[], /--server needs --session/],
  ])('refuses %j', async (flags, message) => {
    const started = hotcell.onTerminal(['dist/cli.js', 'repl', '--server', server.url, ...flags]);
    expect(await started.ended).toBeGreaterThan(0);
    expect(started.screen().replaceAll(/\s+/g, ' ')).toMatch(message);
  });
});
