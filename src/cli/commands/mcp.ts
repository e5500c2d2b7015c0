import { Command } from 'commander';
import { endEvenIfHanging } from '../end-even-if-hanging.ts';
import { addServerFlags, type ServerFlags } from '../server-flags.ts';

/** `hotcell mcp`: an MCP server for one client, over stdin and stdout. */
export function mcpCommand(): Command {
  const command = new Command('mcp').description(
    'Serve one MCP client over stdin and stdout. Clients start this themselves; see hotcell install.',
  );
  return addServerFlags(command, 'mcp')
    .addHelpText('after', HELP)
    .action(async (flags: ServerFlags) => {
      const { mcp } = await import('../mcp/index.ts');
      process.exitCode = await mcp(flags);
      endEvenIfHanging();
    });
}

const HELP = `
Nothing is started before the client's first call. When the client closes stdin, or on SIGTERM or SIGINT, all sessions end,
except persistent ones (hotcell sessions). stdout carries the protocol; the server logs to stderr (HOTCELL_LOG_LEVEL).
Every option can also be set in the environment or in a file: docs/configuration.md. load_file reads the home folder and
the current folder unless --load-root names others. Started by a client, it follows no symbolic link to a --load-root or
--mount-root, and takes no relative --config or HOTCELL_HOME: the folder that a client starts it in may be a stranger's.

Examples:
  $ claude mcp add hotcell -- hotcell mcp
  $ hotcell mcp --min-isolation gvisor --load-root ~/data
  $ hotcell mcp --mount-root ~/data --memory 4g --image my-image:latest
`;
