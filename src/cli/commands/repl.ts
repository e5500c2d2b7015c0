import { Command } from 'commander';
import type { ReplFlags } from '../repl/flags.ts';
import { languageOption, sandboxOptions } from '../sandbox-options.ts';

/** `hotcell repl`: a session at a terminal. */
export function replCommand(): Command {
  const command = new Command('repl').description(
    'Open an interactive session in a sandbox, which is deleted when you close it; or join a session of a server.',
  );
  return sandboxOptions(command.addOption(languageOption('python')), 'none')
    .option('--figures <folder>', 'write images to this folder (default: a temporary folder)')
    .option('--session <id>', 'join this session of a server: run code beside an agent, and see what it runs')
    .option('--server <url>', 'with --session: the server (default: the one on this machine)')
    .option('--token <token>', 'with --session: the token to send (default: HOTCELL_TOKEN, with --server)')
    .addHelpText('after', HELP)
    .action(async (flags: ReplFlags) => {
      const { repl } = await import('../repl/index.ts');
      process.exitCode = await repl(flags);
    });
}

const HELP = `
Ctrl-C interrupts running code and keeps the variables; Ctrl-D closes the session. %help shows the commands and keys. Your input is
saved as history in a file that only you can read, except lines that begin with a space.
There is no timeout unless you set --timeout; with --session, that of the server. A session that you joined stays open.

Examples:
  $ hotcell repl
  $ hotcell repl --language bash
  $ hotcell repl --isolation docker --mount ./data:/data
  $ hotcell repl --memory 4g --figures ./figures
  $ hotcell repl --session analysis --server http://127.0.0.1:7878
`;
