import { Command } from 'commander';
import type { UninstallFlags } from '../uninstall/index.ts';

/** `hotcell uninstall`: removes data, images and the entries of clients. */
export function uninstallCommand(): Command {
  return new Command('uninstall')
    .description('Remove what Hotcell keeps on this machine: its data folder, images, and the entries of clients.')
    .option('--yes', 'remove without asking')
    .option('--keep-images', 'leave the images of the Docker engine, which other users may share')
    .option('--json', 'print one JSON document; without --yes, only what would be removed')
    .addHelpText('after', HELP)
    .action(async (flags: UninstallFlags) => {
      const { uninstall } = await import('../uninstall/index.ts');
      process.exitCode = await uninstall(flags);
    });
}

const HELP = `
It lists everything, then asks. Without a terminal it removes nothing unless you pass --yes. Only what Hotcell wrote is
removed from the data folder; other files in it stay, and are listed. It refuses while a server runs. Persistent sessions end with their variables and files. The program itself stays:
npm uninstall -g hotcell, or delete the clone.

Examples:
  $ hotcell uninstall
  $ hotcell uninstall --json | jq .dataFolder.sizeBytes
  $ hotcell uninstall --yes --keep-images
`;
