import { Command, Option } from 'commander';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { RunFlags } from '../run/options.ts';
import { collect, languageOption, sandboxOptions } from '../sandbox-options.ts';

/** `hotcell run <file|->`: runs a program in a sandbox that ends with it. */
export function runCommand(): Command {
  const command = new Command('run')
    .description(
      'Run a program or a notebook in a sandbox. The sandbox is deleted with all its files when the program ends.',
    )
    .argument('[file]', 'program, or notebook (.ipynb); - reads a program from stdin')
    .option('-c, --code <code>', 'run this code instead of a file')
    .addOption(new Option('-e <value>').hideHelp().argParser(refuseShortE));
  return sandboxOptions(command.addOption(languageOption('by the extension')), '60s')
    .option(
      '--env <name=value>',
      'environment variable of the program; NAME alone takes the value it has here; repeatable',
      collect,
    )
    .option(
      '--with <packages>',
      'Python packages to install first, separated by commas: httpx,rich>=13; repeatable. Those that a script names itself (PEP 723) are installed too',
      collect,
    )
    .option('--save-artifacts <folder>', 'copy the files and figures of the program to this folder')
    .option('--output <file>', 'write the code and its outputs to this notebook (.ipynb)')
    .option('--keep-going', 'notebook: continue after a cell that fails')
    .option('--server <url>', 'run it on a server (hotcell serve) instead of here')
    .option('--token <token>', 'with --server: the token to send (default: HOTCELL_TOKEN)')
    .option('--session <name>', 'with --server: run in the session of this name and keep it; opens it if missing')
    .option('--json', 'print only the result, as one JSON document')
    .addHelpText('after', HELP)
    .action(async (file: string | undefined, flags: RunFlags) => {
      const { run } = await import('../run/index.ts');
      process.exitCode = await run(file, flags);
    });
}

const HELP = `
Output is streamed: the program's stdout to stdout, its stderr and a traceback to stderr. As with any script,
the value of the last line is not shown; --json has it. The exit code is the program's own:
  0 success         1 it raised   n sys.exit(n)   124 timed out   130 interrupted   137 out of memory
  127 language not installed in the sandbox       128+n killed by signal n      69 sandbox lost
  73 success, but a file could not be saved (--save-artifacts)
  64 and above: Hotcell could not run it (docs/errors.md)
The cells of a notebook run in order, and their values are shown. The run stops at the first cell that fails, with its exit code;
a cell tagged raises-exception may raise.
Ctrl-C interrupts the program; a second Ctrl-C ends everything at once. Both clean up the sandbox.

Examples:
  $ hotcell run -c 'print(6 * 7)'
  $ hotcell run script.py
  $ echo 'print(6 * 7)' | hotcell run -
  $ hotcell run main.go
  $ hotcell run -c 'ls | wc -l' --language bash
  $ hotcell run plot.py --save-artifacts out --timeout 2m
  $ hotcell run analysis.ipynb --output executed.ipynb
  $ hotcell run report.py --mount ./data:/data --memory 1g
  $ hotcell run report.py --env MODE=test --env TZ
  $ hotcell run untrusted.py --min-isolation gvisor
  $ hotcell run --with httpx,rich fetch.py --network api.example.com
  $ hotcell run script.py --server http://127.0.0.1:7878 --session analysis
  $ hotcell run script.py --json | jq .outcome
`;

/** `-e` is code to users of node and perl, and a variable to those of docker. */
function refuseShortE(): never {
  throw new HotcellError('invalid_argument', 'there is no option -e', {
    remedy: 'Use -c for code, or --env for an environment variable.',
  });
}
