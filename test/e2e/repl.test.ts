import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { killIfThere } from '../../src/lib/kill-if-there.ts';
import { entriesOf } from '../support/folders.ts';
import { descendantsOf, until } from '../support/host-processes.ts';
import { strength } from '../support/strength.ts';
import type { TerminalProgram } from '../support/terminal.ts';
import { type BuiltHotcell, buildHotcell } from './built-hotcell.ts';

const CTRL = { c: '\x03', d: '\x04', g: '\x07', r: '\x12', u: '\x15' };
const UP = '\x1b[A';
const RIGHT = '\x1b[C';
const COLOURS = { NO_COLOR: undefined, FORCE_COLOR: undefined };

let hotcell: BuiltHotcell;
beforeAll(async () => {
  hotcell = await buildHotcell();
});
afterAll(() => hotcell.remove());

let folder: string;
let terminal: TerminalProgram | undefined;
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
  folder = mkdtempSync(join(tmpdir(), 'hc-repl-'));
});
afterEach(async () => {
  if (hotcell.unavailable !== undefined) return;
  terminal?.type(`${CTRL.c}${CTRL.d}`);
  await Promise.race([terminal?.ended, new Promise((resolve) => setTimeout(resolve, 10_000))]);
  terminal?.kill();
  terminal = undefined;
  expect(hotcell.leftovers()).toEqual([]);
  rmSync(join(hotcell.home, 'history'), { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
});

interface Opened extends TerminalProgram {
  /** Types a line and Enter, and waits for what is to be seen then. */
  enter(line: string, seen: string | RegExp): Promise<void>;
}

/** A REPL whose first prompt is there. */
async function open(
  flags: readonly string[] = [],
  options: Parameters<BuiltHotcell['onTerminal']>[1] = {},
): Promise<Opened> {
  const started = hotcell.onTerminal(['dist/cli.js', 'repl', '--figures', join(folder, 'figures'), ...flags], options);
  terminal = started;
  await started.see('In [1]:');
  return {
    ...started,
    enter: async (line, seen) => {
      started.type(`${line}\r`);
      await started.see(seen);
    },
  };
}

describe('hotcell repl', () => {
  it('keeps variables, shows values, and closes at Ctrl-D with nothing left', async () => {
    const { enter, type, ended, screen } = await open();
    await enter('x = 6', 'In [2]:');
    await enter('x * 7', 'Out[2]: 42');
    await enter('"a\\nb".splitlines', /Out\[3\]: <built-in method/);
    await enter('print("to the", end=" "); "end"', /to the \nOut\[4\]: 'end'\n\nIn \[5\]:/);
    type(CTRL.d);
    expect(await ended).toBe(0);
    expect(screen()).toMatch(/^Hotcell [\d.]+ · python · process \(level 1\)/);
  });

  it('goes on upon a new line where a block was begun, indents it, and runs it at an empty line', async () => {
    const { enter } = await open();
    await enter('def double(n):', /def double\(n\):\n {3}\.\.\.:/);
    await enter('if n is None:', /if n is None:\n {3}\.\.\.:/);
    await enter('return 0', /return 0\n {3}\.\.\.:/);
    await enter('return n * 2', /\.\.\.: {5}return n \* 2\n/);
    await enter('', 'In [2]:');
    await enter('double(21), double(None)', 'Out[2]: (42, 0)');
    await enter('sum([', /sum\(\[\n/);
    await enter('1, 2', /1, 2\n/);
    await enter('])', 'Out[3]: 3');
  });

  it('takes many lines that are pasted, as one, and leaves running them to Enter', async () => {
    const { type, see, screen } = await open();
    const program = 'def f(n):\n\tif n:\n\n\t\treturn n\n\n\treturn -1\n\nprint(f(1), f(0))\n';
    type(`\x1b[200~${program}\x1b[201~`);
    await see('print(f(1), f(0))');
    expect(screen()).not.toMatch(/^1 -1$/m);
    type('\r');
    await see(/^1 -1$/m);
    // Without the marks of a terminal that knows of pasting, the lines come at once all the same.
    type('for x in [1, 2]:\r    print("line", x)\r\r');
    await see(/^line 1\nline 2$/m);
  });

  it('edits what was pasted, in all its lines', async () => {
    const { type, see } = await open();
    type('\x1b[200~def g():\n    return 1\x1b[201~');
    await see('return 1');
    type(`${UP}\x1b[H`); // up, and to the beginning of the line
    type('async ');
    await see('async def g():');
    type('\x1b[B\x1b[F'); // down, and to the end of it
    type(' + 41\r');
    await see(/return 1 \+ 41\n/);
    type('\r');
    await see('In [2]:');
    type('await g()\r');
    await see('Out[2]: 42');
  });

  it('completes names from the kernel, and shows what there is where there are several', async () => {
    const { enter, type, see } = await open();
    await enter('import math', 'In [2]:');
    type('math.sqr\t');
    await see('In [2]: math.sqrt');
    await enter('(49)', 'Out[2]: 7.0');
    type('math.is\t');
    await see(/isclose +isfinite +isinf +isnan +isqrt/);
    await enter('nan(1)', 'Out[3]: False');
    type('%fi\t');
    await see('In [4]: %files');
    type(CTRL.c);
    await enter('math.gcd?', /signature: .*\ndoc: /);
    await enter('nothing_of_that_name?', 'nothing_of_that_name is not defined');
  });

  it('takes no completion from code in the sandbox that would replace what was typed by a command', async () => {
    const { enter, type, see, screen } = await open();
    type('pri\t'); // loads the module
    await see('In [1]: print');
    type(CTRL.c);
    const program = [
      'import gc, types',
      'def hostile(code, cursor, namespace):',
      '    return cursor, [("%run " + "/etc/passwd", "name"), ("hello_there", "name")]',
      'own = [f for f in gc.get_objects() if type(f) is types.FunctionType and f.__name__ == "complete"]',
      'own = [f for f in own if "completion" in f.__code__.co_filename]',
      'for f in own: f.__code__ = hostile.__code__',
      '',
      'print("replaced:", len(own))',
    ];
    type(`\x1b[200~${program.join('\n')}\x1b[201~`);
    await enter('\r', /^replaced: 1$/m);
    type('he\t');
    await see('In [2]: hello_there');
    expect(screen()).not.toContain('%run /etc/passwd');
  });

  it('interrupts what runs at Ctrl-C and keeps the variables; at the prompt it clears the line', async () => {
    const { enter, type, see } = await open();
    await enter('x = "still here"', 'In [2]:');
    type('print("runs")\x1b\r'); // Alt-Enter
    type('while True: pass\r');
    await see('...:');
    type('\r');
    await see(/^runs$/m);
    type(CTRL.c);
    await see(/KeyboardInterrupt\n\nIn \[3\]:/);
    await enter('x', "Out[3]: 'still here'");
    type('half a line');
    await see('half a line');
    type(CTRL.c);
    await see(/half a line\^C\nIn \[4\]: ?$/);
    await enter('1 + 1', 'Out[4]: 2');
  });

  it('says at a second Ctrl-C what happens to code that will not stop, and goes on after it', async () => {
    const { enter, type, see } = await open();
    const stubborn =
      'while True:\n    try:\n        print("runs"); import time; time.sleep(60)\n    except BaseException: print("no")';
    await enter(`\x1b[200~${stubborn}\x1b[201~`, /print\("no"\)\n/);
    type('\r');
    await see(/^runs$/m);
    type(CTRL.c);
    await see(/^no$/m);
    type(CTRL.c);
    await see(/interrupted already.*\n?.*killed/);
    await see(/variables are lost; files are kept\.\n\nIn \[2\]:/);
    await enter('1 + 1', 'Out[2]: 2');
  });

  it('shows a picture as the path of a file, and in the terminal where that can', async (context) => {
    const { enter, written, see, screen } = await open([], { env: { TERM_PROGRAM: 'iTerm.app' } });
    await enter('import matplotlib.pyplot as plt', /In \[2\]:|ModuleNotFoundError/);
    if (screen().includes('ModuleNotFoundError')) return context.skip('there is no matplotlib in the sandbox');
    await enter('plt.plot([1, 2]); None', 'written to ');
    await see('In [3]:');
    const [name] = readdirSync(join(folder, 'figures'));
    expect(name).toBe('figure-1.png');
    const picture = readFileSync(join(folder, 'figures', name!));
    expect(picture.subarray(1, 4).toString()).toBe('PNG');
    expect(written()).toContain(`\x1b]1337;File=inline=1;size=${picture.length}:${picture.toString('base64')}\x07`);
  });

  it('lists files, forgets at %reset, and saves a notebook that runs', async () => {
    const { enter, type, ended } = await open();
    await enter('open("a.txt", "w").write("four")', 'Out[1]: 4');
    await enter('%files', /^4 bytes {2}a\.txt$/m);
    await enter('%reset', 'Variables are deleted; files are kept.');
    await enter('open("a.txt").read()', "Out[2]: 'four'");
    const file = join(folder, 'saved.ipynb');
    await enter(`%save ${file}`, /written to.*saved\.ipynb \(2 cells\)/s);
    await enter(`%save ${file}`, /already exists/);
    await enter('%help', /Ctrl-D +close/);
    type('exit\r');
    expect(await ended).toBe(0);
    const again = await hotcell.run(['dist/cli.js', 'run', file]);
    expect(again).toMatchObject({ exitCode: 0, stdout: "4\n'four'\n" });
  });

  it('loads a file of this machine to the prompt, or runs it, and says where a name is from', async () => {
    const file = join(folder, 'helpers.py');
    writeFileSync(file, 'def triple(n):\n\t"""Three times."""\n\treturn n * 3\n');
    const { enter, type, see } = await open();
    await enter(`%run ${file}`, 'In [2]:');
    await enter('triple(14)', 'Out[2]: 42');
    await enter('triple?', /signature: \(n\)\nfile: \S*helpers\.py\ndoc: Three times\./);
    type(`%load ${file}\r`);
    await see(/In \[3\]: def triple\(n\):\n {3}\.\.\.: {5}"""Three times."""\n {3}\.\.\.: {5}return n \* 3$/);
    type('0\r');
    await see(/return n \* 30\n/);
    type('\r');
    await see('In [4]:');
    await enter('triple(2)', 'Out[4]: 60');
    await enter('%run nothing.py', /nothing\.py/);
    await enter('%load', 'expects the name of a file');
  });

  it('lists the variables, whatever they are', async () => {
    const { enter } = await open();
    await enter('%vars', 'No variables.');
    await enter('numbers, text = [1, 2, 3], "a\\x1b[2J\\nb"', 'In [2]:');
    await enter('%vars', /^numbers +list .*\n?.*^text +str /ms);
  });

  it('speaks other languages, with a history of their own', async () => {
    const { enter, type, see } = await open(['--language', 'bash']);
    await enter('for x in 1 2; do', /do\n {3}\.\.\.:/);
    await enter('echo "line $x"', /x"\n {3}\.\.\.:/);
    await enter('done', /^line 1\nline 2$/m);
    type(UP);
    await see(/In \[2\]: for x in 1 2; do/);
    expect(readdirSync(join(hotcell.home, 'history'))).toEqual(['bash.jsonl']);
  });

  it('refuses a language that nobody knows', async () => {
    const started = hotcell.onTerminal(['dist/cli.js', 'repl', '--language', 'klingon']);
    expect(await started.ended).toBe(64);
    expect(started.screen()).toMatch(/klingon.*\n {2}→ Use one of/s);
  });

  it('says that its kernel was lost, and goes on with a new one', async () => {
    const { enter } = await open();
    await enter('x = 1', 'In [2]:');
    await enter('import os; os.abort()', /died of SIGABRT\.\nhotcell: variables are lost; files are kept\./);
    await enter('x', "NameError: name 'x' is not defined");
  });

  it('says that its sandbox was lost, and goes on with a new one', async () => {
    const { enter, pid } = await open();
    await enter('x = 1', 'In [2]:');
    const parent = await pid();
    for (const { pid: descendant } of descendantsOf(parent)) killIfThere(descendant);
    await until(() => descendantsOf(parent).length === 0, 'they are gone');
    // A call in the same moment is the one to find out, and ends with it.
    await enter('1', /hotcell: (restarted|the sandbox was lost) \([\s\S]*In \[3\]:/);
    await enter('x', /hotcell: restarted \([\s\S]*NameError[\s\S]*In \[4\]:/);
    await enter('6 * 7', 'Out[4]: 42');
  });

  it('is not drowned by a flood of output', async () => {
    const { enter, type, see, written } = await open();
    type('while True: print("flood" * 20)\r');
    await see('...:');
    type('\r');
    await see(/^(flood){16}$/m);
    await expect.poll(() => written().length).toBeGreaterThan(10_000);
    const begin = performance.now();
    type(CTRL.c);
    await see(/KeyboardInterrupt\n\nIn \[2\]:/);
    expect(performance.now() - begin).toBeLessThan(8_000);
    await enter('6 * 7', 'Out[2]: 42');
  });

  it('lets no escape sequence of the program through but colours', async () => {
    const { enter, written, screen } = await open([], { env: { NO_COLOR: undefined, FORCE_COLOR: undefined } });
    await enter('print("\\x1b[32mgreen\\x1b[0m \\x1b]0;owned\\x07\\x1b[2J\\x1b[1;1Hhere")', /^green here$/m);
    await enter('class R:\x1b\r    __repr__ = lambda s: "\\x1b[5A\\x1b]52;c;eA==\\x07repr"', '52;c');
    await enter('', 'In [3]:');
    await enter('R()', 'Out[3]: repr');
    await enter('raise Exception("\\x1b[5Aup")', 'Exception: up');
    expect(written()).toContain('\x1b[32mgreen\x1b[0m');
    expect(written()).not.toMatch(/\x1b\]|\x1b\[2J|\x1b\[1;1H/);
    expect(screen()).toMatch(/^Hotcell/);
  });

  it('has no colours if none are wanted', async () => {
    const { enter, written } = await open();
    await enter('1 / 0', 'ZeroDivisionError');
    expect(written()).not.toMatch(/\x1b\[[\d;]*m/);
  });

  it('shows the output as it comes', async () => {
    const { enter, type, see, screen } = await open();
    type('import time; print("first"); time.sleep(60); print("last")\r');
    await see(/^first$/m);
    expect(screen()).not.toMatch(/^last$/m);
    type(CTRL.c);
    await see('In [2]:');
    await enter('1', 'Out[2]: 1');
  });

  it('keeps what is typed while something runs for the next prompt', async () => {
    const { type, see } = await open();
    type('import time; print("runs"); time.sleep(1)\r');
    await see(/^runs$/m);
    type('6 * 7\r');
    await see('Out[2]: 42');
  });
});

describe('the history of hotcell repl', () => {
  it('is there the next time, whole blocks included, without what began with a space', async () => {
    const first = await open();
    await first.enter('x = "remembered"', 'In [2]:');
    await first.enter(' token = "secret"', 'In [3]:');
    await first.enter('\x1b[200~def f():\n    return x\x1b[201~', /return x\n/);
    await first.enter('', 'In [4]:');
    first.type(CTRL.d);
    await first.ended;
    const file = join(hotcell.home, 'history', 'python.jsonl');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).not.toMatch(/secret/);

    const { type, see } = await open();
    type(UP);
    await see(/In \[1\]: def f\(\):\n {3}\.\.\.: {5}return x/);
    type(`${UP}${UP}`);
    await see(/In \[1\]: x = "remembered"\s*$/);
    type(`${CTRL.u}${CTRL.r}mem`);
    await see('(reverse-i-search)`mem\': x = "remembered"');
    type('\x1b[F; x\r');
    await see("Out[1]: 'remembered'");
  });
});

describe('the editor of hotcell repl', () => {
  it('searches the history as it is typed, further at Ctrl-R, and runs, takes or leaves what it found', async () => {
    const { enter, type, see } = await open();
    await enter('first = "read a"', 'In [2]:');
    await enter('second = "read b"', 'In [3]:');
    await enter('3', 'Out[3]: 3');
    type(`draft${CTRL.r}`);
    await see("(reverse-i-search)`': draft");
    type('read');
    await see('(reverse-i-search)`read\': second = "read b"');
    type(CTRL.r);
    await see('(reverse-i-search)`read\': first = "read a"');
    type(CTRL.r);
    await see('(failed reverse-i-search)`read\': first = "read a"');
    type(CTRL.g);
    await see(/^In \[4\]: draft$/m);
    type(`${CTRL.u}${CTRL.r}nd =`);
    await see("(reverse-i-search)`nd =': second");
    type('\r');
    await see(/In \[4\]: second = "read b"\n\nIn \[5\]:/);
    type(`${CTRL.r}rst =${RIGHT}`);
    await see(/^In \[5\]: first = "read a"$/m);
    type('\x1b[F + "!"; first\r');
    await see("Out[5]: 'read a!'");
  });

  it('offers completions in a menu, for Tab and arrows', async () => {
    const { enter, type, see, screen } = await open();
    await enter('import math', 'In [2]:');
    type('math.is\t');
    await see(/isclose +isfinite +isinf +isnan +isqrt/);
    type('\t');
    await see(/In \[2\]: math\.isclose\n\[isclose\] +isfinite/);
    type('\x1b[B\x1b[B\x1b[Z');
    await see(/In \[2\]: math\.isfinite\nisclose +\[isfinite\]/);
    type('\r');
    await see(/In \[2\]: math\.isfinite$/);
    await enter('(1)', 'Out[2]: True');
    type('math.is\t');
    await see(/isclose +isfinite/);
    type(`\t${CTRL.g}`);
    await see(/In \[3\]: math\.is$/);
    expect(screen()).not.toMatch(/isclose +isfinite/);
  });

  it('paints what is typed, and suggests the rest from the history', async () => {
    const { enter, type, see, written } = await open([], { env: COLOURS });
    await enter('total = sum(range(10)) # all', 'In [2]:');
    expect(written()).toContain('range(\x1b[36m10\x1b[0m)');
    expect(written()).toContain('\x1b[2m# all\x1b[0m');
    type('tot');
    await see(/In \[2\]: total = sum\(range\(10\)\) # all$/);
    expect(written()).toContain('tot\x1b[2mal = sum(range(10)) # all\x1b[0m');
    type(`${RIGHT}\x1b[H\r`); // takes it, and goes to its beginning
    await see('In [3]:');
    type('tot\r'); // not taken: only what was typed is run
    await see("NameError: name 'tot' is not defined");
  });

  it.each([
    ['narrower', 80, 40],
    ['wider', 40, 80],
  ])('is drawn cleanly in a window that gets %s', async (_, before, after) => {
    const { type, see, screen, resize, enter } = await open([], { columns: before, env: { TERM_PROGRAM: 'vscode' } });
    const typed = `"${'0123456789'.repeat(6)}"`;
    type(typed);
    await see(/6789"$/);
    await resize(after, 24);
    type('  ');
    const rows = (text: string) => text.match(new RegExp(`.{1,${after}}`, 'g'))!.join('\n');
    await see(rows(`In [1]: ${typed}`));
    expect(screen().match(/In \[1\]/g)).toHaveLength(1);
    await enter('', 'Out[1]:');
  });
});

describe('hotcell repl is ended', () => {
  it('by Ctrl-C while it is being opened, with nothing left', async () => {
    for (let turn = 0; turn < strength({ plain: 2, all: 5 }); turn += 1) {
      terminal = hotcell.onTerminal(['dist/cli.js', 'repl']);
      // As early as anything can be left: it takes its place among the servers.
      while (entriesOf(join(hotcell.home, 'run')).length === 0) await immediate();
      process.kill(await terminal.pid(), 'SIGINT');
      expect(await terminal.ended).toBe(130);
      expect(hotcell.leftovers()).toEqual([]);
    }
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('by %s, with nothing left', async (signal, exitCode) => {
    const { type, see, pid, ended } = await open();
    type('import time; print("runs"); time.sleep(60)\r');
    await see(/^runs$/m);
    process.kill(await pid(), signal);
    expect(await ended).toBe(exitCode);
  });

  it('by its terminal going away, with nothing left', async () => {
    const { type, see, pid, kill } = await open();
    type('import time; print("runs"); time.sleep(60)\r');
    await see(/^runs$/m);
    const program = await pid();
    kill();
    await gone(program);
  });
});

describe('hotcell repl refuses', () => {
  it('to begin without a terminal, and says what to do instead', async () => {
    expect(await hotcell.run(['dist/cli.js', 'repl'], { stdin: '1 + 1\n' })).toEqual({
      exitCode: 64,
      stdout: '',
      stderr: expect.stringMatching(/^error: repl: needs a terminal\n {2}→ .*hotcell run -\n$/),
    });
  });

  it('no more than a picture where its folder cannot be made', async () => {
    const { enter } = await open();
    writeFileSync(join(folder, 'figures'), '');
    await enter('class P: _repr_png_ = lambda self: b"png"', '...:');
    await enter('', 'In [2]:');
    await enter('P()', 'the image could not be written (ENOTDIR)');
    await enter('1 + 1', 'Out[3]: 2');
  });
});

async function gone(pid: number): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (existsSync(`/proc/${pid}`) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(existsSync(`/proc/${pid}`)).toBe(false);
}
