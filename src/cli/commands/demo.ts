import { Command } from 'commander';
import { isolationOption } from '../sandbox-options.ts';

/** `hotcell demo`: a worked example. */
export function demoCommand(): Command {
  return new Command('demo')
    .description('Show a worked example: a CSV goes into a sandbox, a summary and a chart come out.')
    .addOption(isolationOption())
    .option('--out <folder>', 'where to put the chart', 'hotcell-demo')
    .option('--json', 'print only the result, as one JSON document')
    .addHelpText('after', HELP)
    .action(async (options: { isolation?: string; out: string; json?: boolean }) => {
      const { demo } = await import('../demo/index.ts');
      process.exitCode = await demo(options);
    });
}

const HELP = `
Examples:
  $ hotcell demo
  $ hotcell demo --isolation docker --out /tmp/charts
  $ hotcell demo --json | jq .saved
`;
