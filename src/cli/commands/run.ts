import { Command } from 'commander';
import type { RunFlags } from '../run/options.ts';

/** `hotcell run <file|->`: runs a program in a sandbox that ends with it. */
export function runCommand(): Command {
  return new Command('run')
    .description('Run a program in a sandbox. The sandbox, and every file in it, ends with the program.')
    .argument('<file>', 'the program; - reads it from stdin')
    .option('--language <name>', 'python, bash, c, cpp, go, rust, java, ruby, perl, r, … (default: by the extension)')
    .option('--isolation <driver>', 'auto, process, docker or gvisor (default: auto, the strongest that works)')
    .option('--min-isolation <driver>', 'fail rather than use anything weaker')
    .option('--timeout <time>', 'end the program after this: 30, 30s, 2m, 500ms (default: 60s)')
    .option('--memory <size>', 'all memory of the sandbox, its files included: 512m, 2g (default: 2g)')
    .option('--cpus <number>', 'processors the program may keep busy (default: 1)')
    .option(
      '--mount <source:target[:rw]>',
      'show a folder of this machine inside; read-only without :rw; repeatable',
      collect,
    )
    .option('--image <name>', 'container image to run in (docker, gvisor)')
    .option('--save-artifacts <folder>', 'copy the files and figures that the program made to this folder')
    .option('--json', 'print one JSON document with the whole result, and nothing else')
    .addHelpText('after', HELP)
    .action(async (file: string, flags: RunFlags) => {
      const { run } = await import('../run/index.ts');
      process.exitCode = await run(file, flags);
    });
}

const HELP = `
What the program prints comes out as it is printed: its stdout on stdout, its stderr and a traceback on stderr. As with
any script, the value of its last line is not shown; --json has it. The exit code is the program's own:
  0 it ended well   1 it raised   n sys.exit(n)   124 timed out   130 interrupted   137 out of memory
  127 its language is not in the sandbox          128+n killed by signal n
  64 and above: Hotcell could not run it (docs/errors.md)
Ctrl-C interrupts the program; a second one ends everything at once. Nothing is left behind either way.

Examples:
  $ hotcell run script.py
  $ echo 'print(6 * 7)' | hotcell run -
  $ hotcell run main.go
  $ echo 'ls | wc -l' | hotcell run - --language bash
  $ hotcell run plot.py --save-artifacts out --timeout 2m
  $ hotcell run report.py --mount ./data:/data --memory 1g
  $ hotcell run untrusted.py --min-isolation gvisor
  $ hotcell run script.py --json | jq .outcome
`;

function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}
