import { Command } from 'commander';

/** `hotcell config show|check|schema`: which options are in force, and where each comes from. */
export function configCommand(): Command {
  const config = new Command('config')
    .description('Show and check the effective options and their sources.')
    .addHelpText('after', HELP);
  config
    .command('show', { isDefault: true })
    .description('List the options that differ from their default, with the source of each value.')
    .option('--all', 'also list the options that have their default')
    .option('--json', 'print all of them as one JSON document')
    .addHelpText('after', SHOW_HELP)
    .action(async (flags: { all?: boolean; json?: boolean }) => (await import('../config/show.ts')).showConfig(flags));
  config
    .command('check')
    .description('Check a configuration file and the environment, without starting anything.')
    .argument('[file]', 'the file (default: config.json in the data folder)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', CHECK_HELP)
    .action(async (file: string | undefined, flags: { json?: boolean }) => {
      process.exitCode = await (await import('../config/check.ts')).checkConfig(file, flags);
    });
  config
    .command('schema')
    .description('Print the JSON Schema of a configuration file, for editors.')
    .addHelpText('after', SCHEMA_HELP)
    .action(async () => (await import('../config/show.ts')).printSchema());
  return config;
}

const HELP = `
Flags win over the environment, the environment wins over the configuration file, and the file over defaults. The file is config.json
in the data folder, or the one that --config names; it is JSON with comments. No file of the current folder is ever read:
a repository must not configure its own sandbox.

Examples:
  $ hotcell config
  $ hotcell config check
  $ hotcell config schema > ~/hotcell.schema.json
`;

const SHOW_HELP = `
Secrets are not shown.

Examples:
  $ hotcell config show --all
  $ hotcell config show --json | jq .options.maxSessions
`;

const CHECK_HELP = `
The exit code is 0 if everything is valid; warnings do not change it.

Examples:
  $ hotcell config check
  $ hotcell config check ./new-config.json
`;

const SCHEMA_HELP = `
Examples:
  $ hotcell config schema > hotcell.schema.json
`;
