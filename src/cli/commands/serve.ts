import { Command } from 'commander';
import { isolationNames } from '../sandbox-options.ts';
import type { ServeFlags } from '../serve/index.ts';
import { PROFILE_HELP } from './profile-help.ts';

/** `hotcell serve`: MCP and files over HTTP, for many clients. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('Serve MCP clients, files, metrics and health over HTTP, until Ctrl-C.')
    .option('--host <address>', 'listen on this address (default: 127.0.0.1, which only this machine can reach)')
    .option('--port <number>', 'listen on this port; 0: any free port (default: 7878)')
    .option('--allowed-host <name>', 'additional host name of the server, such as that of a proxy; repeatable', collect)
    .option('--profile <names>', PROFILE_HELP)
    .option('--isolation <driver>', `${isolationNames} (default: auto, the strongest that works)`)
    .option('--min-isolation <driver>', 'refuse any weaker isolation')
    .option(
      '--load-root <folder>',
      'allow load_file to copy files of this machine below this folder; repeatable',
      collect,
    )
    .option('--structured-content', 'send structured content besides text in the replies of tools (docs/tools.md)')
    .option('--json', 'print the address as one line of JSON')
    .addHelpText('after', HELP)
    .action(async (flags: ServeFlags) => {
      const { serve } = await import('../serve/index.ts');
      process.exitCode = await serve(flags);
    });
}

const HELP = `
On 127.0.0.1 no token is needed, and any client that knows the id of a session can use it. On any other address the server
starts only if tokens exist (hotcell token create), and each token sees only its own sessions and files.
Ctrl-C or SIGTERM stops the server and ends all its sessions, except persistent ones: the next server takes them over,
and hotcell sessions lists and closes them.
All options of docs/configuration.md can be set in the environment.

Examples:
  $ hotcell serve
  $ hotcell serve --port 0 --json | jq -r .url
  $ hotcell token create laptop && hotcell serve --host 0.0.0.0
`;

function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}
