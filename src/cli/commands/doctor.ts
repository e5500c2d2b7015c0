import { Command } from 'commander';

/** `hotcell doctor`: shows what works on this machine, what does not and why, and the command that fixes it. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Test every isolation driver on this machine: what works, what does not, and how to fix it.')
    .option('--json', 'print the findings as one JSON document')
    .addHelpText('after', HELP)
    .action(async (options: { json?: boolean }) => {
      const { doctor } = await import('../doctor/index.ts');
      process.exitCode = await doctor(options);
    });
}

const HELP = `
The exit code is 0 if at least one driver works, otherwise 1.

Examples:
  $ hotcell doctor
  $ hotcell doctor --json | jq .auto.driver
`;
