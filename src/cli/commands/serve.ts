import { Command } from 'commander';
import { isolationNames } from '../sandbox-options.ts';
import type { ServeFlags } from '../serve/index.ts';
import { PROFILE_HELP } from './profile-help.ts';

/** `hotcell serve`: MCP and files over HTTP, for many clients. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('Serve MCP clients, files, metrics and health over HTTP, until Ctrl-C.')
    .option('--host <address>', 'listen on this address (default: 127.0.0.1, which only this machine can reach)')
    .option('--port <number>', 'listen on this port; 0 takes a free one (default: 7878)')
    .option('--allowed-host <name>', 'a name by which it is reached, such as that of a proxy; repeatable', collect)
    .option('--profile <names>', PROFILE_HELP)
    .option('--isolation <driver>', `${isolationNames} (default: auto, the strongest that works)`)
    .option('--min-isolation <driver>', 'refuse to run anything with less')
    .option(
      '--load-root <folder>',
      'let load_file copy files of this machine from below this folder; repeatable',
      collect,
    )
    .option('--json', 'say where it listens as one line of JSON')
    .addHelpText('after', HELP)
    .action(async (flags: ServeFlags) => {
      const { serve } = await import('../serve/index.ts');
      process.exitCode = await serve(flags);
    });
}

const HELP = `
On 127.0.0.1 nobody needs a token, and whoever knows a session's id can use it. Anywhere else it starts only where there
are tokens (hotcell token create), and then each token sees its own sessions and files alone.
Ctrl-C or SIGTERM ends it, with everything that runs in it. Nothing is left behind but sessions that were opened as
persistent: the next server goes on with them, and hotcell sessions lists and closes them.
All options of docs/configuration.md can be set in the environment.

Examples:
  $ hotcell serve
  $ hotcell serve --port 0 --json | jq -r .url
  $ hotcell token create laptop && hotcell serve --host 0.0.0.0
`;

function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}
