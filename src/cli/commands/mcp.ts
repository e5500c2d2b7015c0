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
    .option('--min-isolation <driver>', 'refuse any weaker isolation')
    .option(
      '--load-root <folder>',
      'allow load_file to copy files below this folder; repeatable (default: home folder and current folder)',
      collect,
    )
    .option('--structured-content', 'send structured content besides text in the replies of tools (docs/tools.md)')
    .addHelpText('after', HELP)
    .action(async (flags: McpFlags) => {
      const { mcp } = await import('../mcp/index.ts');
      process.exitCode = await mcp(flags);
    });
}

const HELP = `
Nothing is started before the client's first call. When the client closes stdin, or on SIGTERM or SIGINT, all sessions end,
except persistent ones (hotcell sessions). stdout carries the protocol; the server logs to stderr (HOTCELL_LOG_LEVEL).
All options of docs/configuration.md can be set in the environment.

Examples:
  $ claude mcp add hotcell -- hotcell mcp
  $ hotcell mcp --min-isolation gvisor --load-root ~/data
`;

function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}
