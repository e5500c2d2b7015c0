import { Argument, Command, Option } from 'commander';
import { CLIENT_NAMES } from '../install/clients.ts';
import type { InstallFlags } from '../install/index.ts';
import { isolationNames } from '../sandbox-options.ts';

/** `hotcell install <client>`: puts Hotcell into a client's own configuration, or takes it out. */
export function installCommand(): Command {
  return new Command('install')
    .description("Put Hotcell into an MCP client's configuration. Shows what it changed; can be repeated and undone.")
    .addArgument(new Argument('<client>', 'which one').choices(CLIENT_NAMES))
    .addOption(
      new Option(
        '--scope <scope>',
        'user: for all you do; project: for this folder, to be shared with it (default: user)',
      ).choices(['user', 'project']),
    )
    .option('--profile <names>', 'the tools under the names of another system; several with commas')
    .option('--isolation <driver>', isolationNames)
    .option('--no-rules', 'claude-code: leave CLAUDE.md alone, which tells the model when to use the sandbox')
    .option('--keep-env', "project: keep the variables and members that the project's own file adds to the entry")
    .option('--print', 'print the entry instead of writing it')
    .option('--undo', 'take Hotcell out again')
    .option('--json', 'print what was changed as one JSON document')
    .addHelpText('after', HELP)
    .action(async (client: string, flags: InstallFlags) => {
      const { install } = await import('../install/index.ts');
      process.exitCode = await install(client, flags);
    });
}

const HELP = `
Everything else in the file stays as it is, comments included. A file that cannot be parsed is not touched; the file as
it was lies beside it afterwards (….hotcell-backup).

What you added to the entry yourself stays. A project is a stranger's: of its entry nothing stays unless you say --keep-env,
which is remembered in your data folder. NODE_*, LD_*, DYLD_*, PYTHON* and their like are never kept: they run other code.

Examples:
  $ hotcell install claude-code
  $ hotcell install claude-code --scope project       .mcp.json and CLAUDE.md of this folder
  $ hotcell install vscode --isolation docker
  $ hotcell install codex --print
  $ hotcell install cursor --undo
`;
