import { Command, Option } from 'commander';
import { CLIENT_NAMES } from '../install/clients.ts';
import type { InstallFlags } from '../install/index.ts';
import { namedArgument } from '../sandbox-options.ts';
import { addServerFlags } from '../server-flags.ts';

/** `hotcell install <client>`: adds Hotcell to a client's configuration, or removes it. */
export function installCommand(): Command {
  const command = new Command('install')
    .description('Add Hotcell to the configuration of an MCP client. Shows the changes; can be repeated and undone.')
    .addArgument(namedArgument('<client>', `name of the client: ${CLIENT_NAMES.join(', ')}`, CLIENT_NAMES))
    .addOption(
      new Option(
        '--scope <scope>',
        'user: for all projects; project: for this folder, shared through its files (default: user)',
      ).choices(['user', 'project']),
    )
    .option('--no-rules', 'claude-code: do not add rules to CLAUDE.md, which tell the model when to use the sandbox')
    .option('--keep-env', "project: keep the variables and members that the project's file adds to the entry")
    .option('--print', 'print the entry instead of writing it')
    .option('--undo', 'remove Hotcell from the configuration')
    .option('--restore', 'project, with --undo: put back the entry that was replaced, without asking')
    .option('--yes', 'with --undo: ask nothing; alone, it leaves out an entry of the project that was replaced')
    .option('--json', 'print the changes as one JSON document');
  return addServerFlags(command, 'mcp')
    .addHelpText('after', HELP)
    .action(async (client: string, flags: InstallFlags) => {
      const { install } = await import('../install/index.ts');
      process.exitCode = await install(client, flags);
    });
}

const HELP = `
Everything else in the file is kept, including comments. A file that cannot be parsed is not changed; the old version
is saved beside the file (….hotcell-backup) until --undo, which restores what was replaced. In a project, --undo shows
the entry that was replaced and asks first, because it may be a stranger's; left out, it stays in the backup.
The flags of hotcell mcp go into the entry, which has absolute paths. Under npx outside a clone it refuses: install
Hotcell first (npm install -g).

Your own additions to the entry are kept. A project is untrusted: additions in its entry are dropped unless you pass --keep-env,
which is remembered in your data folder. NODE_*, LD_*, DYLD_*, PYTHON* and similar are never kept: they can run other code.

Examples:
  $ hotcell install claude-code
  $ hotcell install claude-code --scope project       .mcp.json and CLAUDE.md of this folder
  $ hotcell install vscode --isolation docker --mount-root ~/data --memory 4g
  $ hotcell install codex --print
  $ hotcell install cursor --undo
  $ hotcell install cursor --undo --scope project --restore
`;
