import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { buildOnce } from '../support/built-program.ts';
import { EACH_COMMAND, listCommands } from '../support/each-command.ts';
import { CLI } from '../support/other-user.ts';
import { onlyWithAll, strength } from '../support/strength.ts';

/** Every flag and every argument that names a file or a folder, in a stranger's repository that has links at those names. */
let home: string;

beforeAll(() => {
  buildOnce();
  home = realpathSync(mkdtempSync(join(tmpdir(), 'hotcell-flags-')));
  for (const name of ['repository', 'private']) mkdirSync(join(home, name));
  writeFileSync(join(home, 'private.json'), '{ "maxSessions": 3 }');
  symlinkSync(join(home, 'private'), join(home, 'repository/folder'));
  for (const name of ['file.json', 'file.ipynb', 'file.py'])
    symlinkSync(join(home, 'private.json'), join(home, 'repository', name));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const hotcell = (args: readonly string[]) => start([CLI, ...args]);

function start(args: readonly string[]) {
  return spawnSync(process.execPath, args, {
    ...{ cwd: join(home, 'repository'), encoding: 'utf8', input: '', timeout: 30_000 },
    env: { ...process.env, HOME: home, HOTCELL_HOME: join(home, 'data'), HOTCELL_ISOLATION: 'process', NO_COLOR: '1' },
  });
}

const lines = createProgram().commands.flatMap((command) =>
  command.commands.length === 0
    ? linesOf(command, [command.name()])
    : command.commands.flatMap((below) => linesOf(below, [command.name(), below.name()], command)),
);

describe('a link in the place of what the user names', () => {
  it('is tried for all of these', () => {
    const flags = new Set(lines.flat().filter((word) => word.startsWith('--')));
    expect([...flags].sort()).toEqual([
      ...['--config', '--load-root', '--log-file', '--mount', '--mount-root', '--out', '--output', '--save-artifacts'],
    ]);
  });

  /** One hook of the whole program reads this flag, before any command (src/cli/program.ts). */
  const withConfig = lines.filter((line) => line.includes('--config'));
  const left = onlyWithAll('the flag is tried with two other commands');

  /** What each line says, and its exit code. In a plain run one process runs all that can be: an option may be kept for the next that is called. */
  let finished: ReadonlyMap<readonly string[], { stderr: string; status: number | null }>;
  beforeAll(() => {
    const together = strength({ plain: lines.filter((line) => !withConfig.includes(line)), all: [] });
    using listed = listCommands(together.map((args) => ({ args })));
    const said = together.length === 0 ? [] : listed.split(start([EACH_COMMAND, CLI, listed.file]).stderr);
    finished = new Map(
      together.map((line, at) => [line, { stderr: said[at]?.text ?? '', status: said[at]?.exitCode ?? -1 }]),
    );
  });

  it.for(lines.map((line) => [line.join(' '), line] as const))('is refused: hotcell %s', ([, line], context) => {
    context.skip(left !== undefined && withConfig.indexOf(line) > 1, left);
    const { stderr, status } = finished.get(line) ?? hotcell(line);
    // What a client starts takes no path of its current folder at all.
    expect(stderr).toMatch(/is a symbolic link, which is not followed here|is relative to the current folder/);
    expect(status).toBe(64);
  });

  it('would be followed outside of the current folder, where it is the user’s own', () => {
    symlinkSync(join(home, 'private.json'), join(home, 'own.json'));
    const { stdout } = hotcell(['config', 'show', '--config', join(home, 'own.json')]);
    expect(stdout).toContain('maxSessions');
  });
});

/** One command line for each flag and argument of a command that names a path. */
function linesOf(command: Command, words: string[], parent?: Command): string[][] {
  const given = command.registeredArguments
    .filter((argument) => argument.required || (command.name() === 'run' && argument.name() === 'file'))
    .map((argument) => (argument.name() === 'file' ? '-' : (argument.argChoices?.[0] ?? 'x')));
  const byFlag = [...command.options, ...(parent?.options ?? [])].flatMap(({ long, flags }) => {
    const value = valueFor(flags.match(/<(.+)>$/)?.[1], long);
    // It needs a terminal before it reads other flags: src/cli/repl/pictures.test.ts, src/cli/run/options.test.ts.
    if (value === undefined || (command.name() === 'repl' && long !== '--config')) return [];
    return [[...words, long!, value, ...given]];
  });
  const byArgument = command.registeredArguments.flatMap((argument) =>
    argument.name() === 'file' ? [[...words, words[0] === 'run' ? 'file.py' : 'file.json']] : [],
  );
  return [...byFlag, ...byArgument];
}

function valueFor(placeholder: string | undefined, flag: string | undefined): string | undefined {
  if (placeholder === 'folder') return 'folder';
  if (placeholder === 'file') return flag === '--output' ? 'file.ipynb' : 'file.json';
  return placeholder?.startsWith('source') ? 'folder:/data' : undefined;
}
