import { Command } from 'commander';

/** `hotcell doctor`: what works on this machine, what does not and why, and the command that mends it. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Try every way to isolate code on this machine; say what works, what does not, and what mends it.')
    .option('--json', 'print the findings as one JSON document')
    .addHelpText('after', HELP)
    .action(async (options: { json?: boolean }) => {
      const { doctor } = await import('../doctor/index.ts');
      process.exitCode = await doctor(options);
    });
}

const HELP = `
The exit code is 0 where at least one way works, 1 where none does.

Examples:
  $ hotcell doctor
  $ hotcell doctor --json | jq .auto.driver
`;
