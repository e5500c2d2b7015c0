import { Command } from 'commander';
import type { RunFlags } from '../run/options.ts';
import { languageOption, sandboxOptions } from '../sandbox-options.ts';

/** `hotcell run <file|->`: runs a program in a sandbox that ends with it. */
export function runCommand(): Command {
  const command = new Command('run')
    .description('Run a program or a notebook in a sandbox. The sandbox, and every file in it, ends with the program.')
    .argument('<file>', 'the program, or a notebook (.ipynb); - reads a program from stdin');
  return sandboxOptions(command.addOption(languageOption('by the extension')), '60s')
    .option('--save-artifacts <folder>', 'copy the files and figures that the program made to this folder')
    .option('--output <file>', 'write what was run, with its outputs, to this notebook (.ipynb)')
    .option('--keep-going', 'of a notebook, run the cells after one that fails too')
    .option('--server <url>', 'run it on a server (hotcell serve) instead of here')
    .option('--token <token>', 'with --server: who you are (default: HOTCELL_TOKEN)')
    .option('--session <name>', 'with --server: run in the session of that name and keep it; opened if there is none')
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
  127 its language is not in the sandbox          128+n killed by signal n      69 its sandbox was lost
  73 it ended well, and a file of it could not be saved (--save-artifacts)
  64 and above: Hotcell could not run it (docs/errors.md)
A notebook's cells run in order, and their values are shown. It stops at the first that fails, whose exit code it has;
a cell tagged raises-exception may raise.
Ctrl-C interrupts the program; a second one ends everything at once. Nothing is left behind either way.

Examples:
  $ hotcell run script.py
  $ echo 'print(6 * 7)' | hotcell run -
  $ hotcell run main.go
  $ echo 'ls | wc -l' | hotcell run - --language bash
  $ hotcell run plot.py --save-artifacts out --timeout 2m
  $ hotcell run analysis.ipynb --output executed.ipynb
  $ hotcell run report.py --mount ./data:/data --memory 1g
  $ hotcell run untrusted.py --min-isolation gvisor
  $ hotcell run script.py --server http://127.0.0.1:7878 --session analysis
  $ hotcell run script.py --json | jq .outcome
`;
