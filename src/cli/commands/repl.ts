import { Command } from 'commander';
import type { ReplFlags } from '../repl/index.ts';
import { languageOption, sandboxOptions } from '../sandbox-options.ts';

/** `hotcell repl`: a session at a terminal. */
export function replCommand(): Command {
  const command = new Command('repl').description(
    'Work in a sandbox from the terminal. It ends, with every file in it, when you close it.',
  );
  return sandboxOptions(command.addOption(languageOption('python')), 'none')
    .option('--figures <folder>', 'write pictures to this folder (default: one among the temporary files)')
    .addHelpText('after', HELP)
    .action(async (flags: ReplFlags) => {
      const { repl } = await import('../repl/index.ts');
      process.exitCode = await repl(flags);
    });
}

const HELP = `
Ctrl-C interrupts what runs and keeps the variables; Ctrl-D closes. %help shows the commands and keys. What you type is
remembered for the next time, in a file that only you can read; a line that begins with a space is not.
There is no time limit but your patience, unless you set one with --timeout.

Examples:
  $ hotcell repl
  $ hotcell repl --language bash
  $ hotcell repl --isolation docker --mount ./data:/data
  $ hotcell repl --memory 4g --figures ./figures
`;
