import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { findProgram } from '../../src/lib/find-program.ts';
import { buildOnce } from '../support/built-program.ts';
import { startOnTerminal, type TerminalProgram } from '../support/terminal.ts';
import { root } from './built-hotcell.ts';

let folder: string;
beforeAll(() => {
  buildOnce();
  folder = mkdtempSync(join(tmpdir(), 'hc-completion-'));
  mkdirSync(join(folder, 'reports 2025'));
  writeFileSync(join(folder, 'analysis of sales.ipynb'), '');
  writeFileSync(join(folder, 'zebra.py'), '');
  for (const shell of ['bash', 'zsh', 'fish']) {
    const script = execFileSync(process.execPath, ['dist/cli.js', 'completion', shell], { cwd: root });
    writeFileSync(join(folder, `.hotcell.${shell}`), script);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A shell that is missing is a skip with its reason, and a failure where all are required. */
function needs(shell: string): void {
  beforeEach((context) => {
    if (findProgram(shell) !== undefined) return;
    if (process.env.HOTCELL_TEST_REQUIRE === 'all') throw new Error(`${shell} is not installed`);
    context.skip(`${shell} is not installed`);
  });
}

/** What is typed, and what then stands on the line. */
const COMPLETED: readonly (readonly [string, string])[] = [
  ['hotcell do', 'hotcell doctor'],
  ['hotcell run --keep', 'hotcell run --keep-going'],
  ['hotcell run --isolation gv', 'hotcell run --isolation gvisor'],
  ['hotcell repl --min-isolation doc', 'hotcell repl --min-isolation docker'],
  ['hotcell repl --language ba', 'hotcell repl --language bash'],
  ['hotcell shell lab --att', 'hotcell shell lab --attach'],
  ['hotcell run zeb', 'hotcell run zebra.py'],
  ['hotcell run --json ana', 'hotcell run --json analysis\\ of\\ sales.ipynb'],
  ['hotcell run x.py --save-artifacts rep', 'hotcell run x.py --save-artifacts reports\\ 2025/'],
  ['hotcell setup gv', 'hotcell setup gvisor'],
  ['hotcell completion z', 'hotcell completion zsh'],
  ['hotcell install vs', 'hotcell install vscode'],
  ['hotcell install cursor --scope pr', 'hotcell install cursor --scope project'],
  ['hotcell token rev', 'hotcell token revoke'],
  ['hotcell sta', 'hotcell status'],
  ['hotcell uninstall --keep', 'hotcell uninstall --keep-images'],
  ['hotcell ver', 'hotcell version'],
  ['hotcell help set', 'hotcell help setup'],
];

function describeAtTerminal(shell: string, args: readonly string[], begin: string): void {
  describe(`${shell} at a terminal`, () => {
    needs(shell);

    async function withShell<T>(use: (terminal: TerminalProgram) => Promise<T>): Promise<T> {
      const env = {
        PATH: process.env.PATH,
        HOME: folder,
        PS1: '$ ',
        LC_ALL: 'C.UTF-8',
        BASH_SILENCE_DEPRECATION_WARNING: '1',
      };
      const terminal = startOnTerminal([shell, ...args], { cwd: folder, env, columns: 120 });
      try {
        terminal.type(`${begin}\r`);
        await terminal.see(/^ready$/m);
        return await use(terminal);
      } finally {
        terminal.kill();
      }
    }

    it('completes commands, flags, their values and file names', () =>
      withShell(async (terminal) => {
        for (const [typed, completed] of COMPLETED) {
          terminal.type(`${typed}\t`);
          await terminal.see(`$ ${completed}`);
          terminal.type('\x15'); // the line is emptied
          await terminal.see(/^\$ *$(?![\s\S]*\S)/m);
        }
      }));

    it('shows every command there is', () =>
      withShell(async (terminal) => {
        terminal.type('hotcell \t\t');
        for (const { name } of commandNames()) await terminal.see(new RegExp(`^\\W*(?:.*\\s)?${name}\\b(?! \\$)`, 'm'));
      }));
  });
}

describeAtTerminal('bash', ['--norc', '--noprofile', '-i'], "PS1='$ '; source .hotcell.bash; echo ready");
describeAtTerminal(
  'zsh',
  ['-f', '-i'],
  "PS1='$ '; autoload -U compinit && compinit -u -D; source .hotcell.zsh; echo ready",
);

describe('fish', () => {
  needs('fish');

  function asked(line: string): string[] {
    const command = `source ${join(folder, '.hotcell.fish')}; complete -C ${JSON.stringify(line)}`;
    const env = { PATH: process.env.PATH, HOME: folder, XDG_CONFIG_HOME: folder, LC_ALL: 'C.UTF-8' };
    return execFileSync('fish', ['--no-config', '-c', command], { cwd: folder, env, encoding: 'utf8' })
      .split('\n')
      .map((found) => found.split('\t')[0]!)
      .filter(Boolean);
  }

  it('completes commands, flags, their values and file names', () => {
    for (const [typed, completed] of COMPLETED) {
      const expected = completed.replaceAll('\\', '');
      const before = typed.slice(0, typed.lastIndexOf(' ') + 1);
      expect(asked(typed).map((found) => before + found)).toContain(expected);
    }
  });

  it('shows every command there is, and no file where none belongs', () => {
    expect(asked('hotcell ').sort()).toEqual([...commandNames().map(({ name }) => name), 'help'].sort());
    expect(asked('hotcell run --isolation ').sort()).toEqual(['auto', 'docker', 'gvisor', 'process']);
    expect(asked('hotcell run --memory ')).toEqual([]);
  });
});

function commandNames(): { name: string }[] {
  return createProgram().commands.map((command) => ({ name: command.name() }));
}
