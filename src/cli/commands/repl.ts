import { Command } from 'commander';
import type { ReplFlags } from '../repl/index.ts';
import { languageOption, sandboxOptions } from '../sandbox-options.ts';

/** `hotcell repl`: a session at a terminal. */
export function replCommand(): Command {
  const command = new Command('repl').description(
    'Open an interactive session in a sandbox. Closing it deletes the sandbox with all its files.',
  );
  return sandboxOptions(command.addOption(languageOption('python')), 'none')
    .option('--figures <folder>', 'write images to this folder (default: a temporary folder)')
    .addHelpText('after', HELP)
    .action(async (flags: ReplFlags) => {
      const { repl } = await import('../repl/index.ts');
      process.exitCode = await repl(flags);
    });
}

const HELP = `
Ctrl-C interrupts running code and keeps the variables; Ctrl-D closes the session. %help shows the commands and keys. Your input is
saved as history in a file that only you can read, except lines that begin with a space.
There is no timeout unless you set --timeout.

Examples:
  $ hotcell repl
  $ hotcell repl --language bash
  $ hotcell repl --isolation docker --mount ./data:/data
  $ hotcell repl --memory 4g --figures ./figures
`;
