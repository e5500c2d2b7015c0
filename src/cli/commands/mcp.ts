import { Command } from 'commander';
import type { McpFlags } from '../mcp/index.ts';
import { isolationNames } from '../sandbox-options.ts';
import { PROFILE_HELP } from './profile-help.ts';

/** `hotcell mcp`: an MCP server for one client, over stdin and stdout. */
export function mcpCommand(): Command {
  return new Command('mcp')
    .description('Serve one MCP client over stdin and stdout. Clients start this themselves; see hotcell install.')
    .option('--profile <names>', PROFILE_HELP)
    .option('--isolation <driver>', `${isolationNames} (default: auto, the strongest that works)`)
    .option('--min-isolation <driver>', 'refuse to run anything with less')
    .option(
      '--load-root <folder>',
      'let load_file copy files from below this folder; repeatable (default: your home folder and the current one)',
      collect,
    )
    .addHelpText('after', HELP)
    .action(async (flags: McpFlags) => {
      const { mcp } = await import('../mcp/index.ts');
      process.exitCode = await mcp(flags);
    });
}

const HELP = `
Nothing is started before the client's first call. When the client closes stdin, or on SIGTERM or SIGINT, everything ends
and nothing is left behind but persistent sessions (hotcell sessions). stdout belongs to the protocol; what the server has to say goes to stderr (HOTCELL_LOG_LEVEL).
All options of docs/configuration.md can be set in the environment.

Examples:
  $ claude mcp add hotcell -- hotcell mcp
  $ hotcell mcp --min-isolation gvisor --load-root ~/data
`;

function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}
