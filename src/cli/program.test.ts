import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../config/load.ts';
import { createProgram } from './program.ts';

describe('the help of every command', () => {
  const program = createProgram();
  const commands = [program, ...program.commands.flatMap((each) => [each, ...each.commands])];

  it.each(commands.map((command) => [pathOf(command), command] as const))(
    'of %s has examples of it',
    (path, command) => {
      const help = helpOf(command);
      expect(help).toMatch(/\n {2}-h, --help +Show this help\n/);
      const examples = help.split('\nExamples:\n')[1] ?? '';
      expect(examples).toContain(`hotcell ${path}`.trim());
    },
  );
});

it.each(createProgram().commands.map((command) => [command.name(), command] as const))(
  'a program for %s alone has that command as the whole program has it',
  (name, inWhole) => {
    const { commands } = createProgram(name);
    const alone = commands.find((command) => command.name() === name)!;
    expect(helpOf(alone)).toBe(helpOf(inWhole));
    expect(commands).toHaveLength(name === 'completion' ? createProgram().commands.length : 1);
  },
);

it('names the actual time limit of a run', () => {
  const run = createProgram().commands.find((command) => command.name() === 'run')!;
  const flag = run.options.find(({ long }) => long === '--timeout')!;
  expect(flag.description).toContain(
    `(default: ${loadConfig({}, { env: {}, dataDir: '/nowhere' }).timeoutMs / 1000}s)`,
  );
});

it('says what -e means, which is code to some and a variable to others', async () => {
  const run = createProgram('run').parseAsync(['run', '-e', 'x'], { from: 'user' });
  await expect(run).rejects.toMatchObject({ code: 'invalid_argument', remedy: expect.stringMatching(/-c .*--env/) });
});

function pathOf(command: Command): string {
  return command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`.trim();
}

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: (piece) => {
      text += piece;
    },
  });
  command.outputHelp();
  return text;
}
