import { Command } from 'commander';
import { packageRoot } from '../../lib/package-root.ts';
import { packageVersion } from '../../lib/package-version.ts';
import { standardOutputs } from '../output.ts';

/** `hotcell version`: the version, and with --json where this Hotcell is. */
export function versionCommand(): Command {
  return new Command('version')
    .description('Print the version.')
    .option('--json', 'print it as one JSON document, with the version of Node and the folder of the program')
    .addHelpText('after', HELP)
    .action(async ({ json }: { json?: boolean }) => {
      const { stdout } = standardOutputs();
      const version = packageVersion();
      if (json) await stdout.json({ version, node: process.versions.node, folder: packageRoot() });
      else await stdout.say(version);
    });
}

const HELP = `
hotcell doctor prints the versions of everything that Hotcell uses.

Examples:
  $ hotcell version
  $ hotcell version --json | jq -r .folder
`;
