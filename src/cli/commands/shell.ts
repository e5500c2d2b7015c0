import { Command } from 'commander';
import { sandboxOptions } from '../sandbox-options.ts';
import type { ShellFlags } from '../shell/flags.ts';

/** `hotcell shell [session] [command…]`: a terminal in a session, beside its other executions. */
export function shellCommand(): Command {
  const command = new Command('shell')
    .description('Open a terminal in a session of a server, beside the work of an agent; or in a new sandbox.')
    .argument('[session]', 'id or name of the session (default: a new sandbox, deleted at the end)')
    .argument('[command...]', 'command to run (default: a login shell); put -- before one that has flags')
    .option('--server <url>', 'the server of the session (default: the local one, hotcell serve)')
    .option('--token <token>', 'token to send (default with --server: HOTCELL_TOKEN)')
    .option('--attach <id>', 'attach again to a command that runs')
    .option('--list', 'list the commands of the session')
    .option('--json', 'with --list: print one JSON document')
    .option('--cwd <path>', 'working directory, relative to /workspace');
  return sandboxOptions(command, 'none')
    .addHelpText('after', HELP)
    .action(async (session: string | undefined, words: readonly string[], flags: ShellFlags) => {
      const { shell } = await import('../shell/index.ts');
      process.exitCode = await shell(session, words, flags);
    });
}

const HELP = `
At a terminal the command gets a terminal of the same size. All keys go to it, Ctrl-C included. At the beginning of a line,
~. detaches: the command goes on, and so it does when the connection breaks. ~~ sends a tilde. Without a terminal (pipes, scripts),
stdin is piped, and Ctrl-C interrupts the command. One word is a line for the shell; several are a program and its arguments.
The exit code is that of the command, as with ssh.

The program draws on your terminal, but cannot command it: window titles, the clipboard, queries of the terminal and the mouse
are filtered out.

Examples:
  $ hotcell shell analysis                                      a shell in a session of the local server
  $ hotcell shell analysis --server https://sandbox.example.com
  $ hotcell shell analysis -- tail -f run.log
  $ hotcell shell analysis 'ls | wc -l'
  $ cat data.csv | hotcell shell analysis 'cat > data.csv'
  $ hotcell shell analysis --list
  $ hotcell shell analysis --attach x-91f3
  $ hotcell shell --isolation docker                            a shell in a new sandbox
`;
