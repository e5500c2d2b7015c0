import { Command } from 'commander';

/** `hotcell demo`: a worked example. `npm start` runs it after setting things up. */
export function demoCommand(): Command {
  return new Command('demo')
    .description('Show a worked example: a CSV goes into a sandbox, a summary and a chart come out.')
    .option('--isolation <driver>', 'auto, process, docker or gvisor')
    .option('--out <folder>', 'where to put the chart', 'hotcell-demo')
    .addHelpText('after', HELP)
    .action(async (options: { isolation?: string; out: string }) => {
      const { demo } = await import('../demo/index.ts');
      process.exitCode = await demo(options);
    });
}

const HELP = `
Examples:
  $ hotcell demo
  $ hotcell demo --isolation docker --out /tmp/charts
`;
