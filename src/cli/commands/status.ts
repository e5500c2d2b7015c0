import { Command } from 'commander';

/** `hotcell status`: what runs on this machine, and what Hotcell keeps on it. */
export function statusCommand(): Command {
  return new Command('status')
    .description('Show the running servers of this user, persistent sessions, the data folder and images.')
    .option('--json', 'print one JSON document')
    .addHelpText('after', HELP)
    .action(async (flags: { json?: boolean }) => (await import('../status/index.ts')).status(flags));
}

const HELP = `
A server that an MCP client has started (hotcell mcp) is listed from its first call on. To stop a server, press Ctrl-C in its
terminal, or run: kill <pid>. hotcell doctor tests the isolation drivers; hotcell uninstall removes what is listed here.

Examples:
  $ hotcell status
  $ hotcell status --json | jq -r '.servers[].url'
`;
