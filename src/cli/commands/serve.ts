import { Command } from 'commander';
import { endEvenIfHanging } from '../end-even-if-hanging.ts';
import type { ServeFlags } from '../serve/index.ts';
import { addServerFlags } from '../server-flags.ts';

/** `hotcell serve`: MCP and files over HTTP, for many clients. */
export function serveCommand(): Command {
  const command = new Command('serve').description(
    'Serve MCP clients, files, metrics and health over HTTP, until Ctrl-C.',
  );
  return addServerFlags(command, 'serve')
    .option('--json', 'print the address as one line of JSON')
    .addHelpText('after', HELP)
    .action(async (flags: ServeFlags) => {
      const { serve } = await import('../serve/index.ts');
      process.exitCode = await serve(flags);
      endEvenIfHanging();
    });
}

const HELP = `
On 127.0.0.1 no token is needed, and any client that knows the id of a session can use it. On any other address the server
starts only if tokens exist (hotcell token create), and each token sees only its own sessions and files.
Ctrl-C or SIGTERM stops the server and ends all its sessions, except persistent ones: the next server takes them over,
and hotcell sessions lists and closes them.
Every option can also be set in the environment or in a file: docs/configuration.md.

Examples:
  $ hotcell serve
  $ hotcell serve --port 0 --json | jq -r .url
  $ hotcell serve --mount-root /srv/data --memory 4g --session-idle 2h
  $ hotcell token create laptop && hotcell serve --host 0.0.0.0
`;
