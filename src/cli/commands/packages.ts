import { Command } from 'commander';

/** `hotcell packages list|prune`: the packages that sessions have installed. */
export function packagesCommand(): Command {
  const packages = new Command('packages')
    .description('List and remove the packages that were installed into sessions, and are kept for the next ones.')
    .addHelpText('after', HELP);
  packages
    .command('list', { isDefault: true })
    .description('List installed sets of packages: their owner, size, last use, and whether a session has them.')
    .option('--json', 'print one JSON document')
    .addHelpText('after', LIST_HELP)
    .action(async (flags: { json?: boolean }) => (await import('../packages/index.ts')).listPackages(flags));
  packages
    .command('prune')
    .description('Remove sets that no session has now.')
    .option('--all', 'remove all of them (default: those beyond the limits of the configuration)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', PRUNE_HELP)
    .action(async (flags: { all?: boolean; json?: boolean }) =>
      (await import('../packages/index.ts')).prunePackages(flags),
    );
  return packages;
}

const HELP = `
Packages are fetched and built once for each owner; the next session that asks for the same ones has them at once.
docs/guides/packages.md says how sessions install packages.

Examples:
  $ hotcell packages
  $ hotcell packages prune --all
`;

const LIST_HELP = `
Examples:
  $ hotcell packages
  $ hotcell packages list --json | jq '[.[].bytes] | add'
`;

const PRUNE_HELP = `
The limits are the options packageBytes and packageBytesPerOwner. Sessions that are open keep what they have.

Examples:
  $ hotcell packages prune
  $ hotcell packages prune --all
`;
