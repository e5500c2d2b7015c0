import { Argument, type Command, Option } from 'commander';
import { DRIVERS } from '../drivers/registry.ts';
import { driversWith } from '../sandbox/declaration.ts';
import { DRIVER_NAMES } from '../sandbox/isolation.ts';

/**
 * The flags of a sandbox, for every command that creates one. `run/options.ts` checks their values. `timeLimit`: the
 * default time limit.
 */
export function sandboxOptions(command: Command, timeLimit: string): Command {
  return command
    .addOption(isolationOption())
    .addOption(valued('--min-isolation <driver>', 'refuse any weaker isolation', DRIVER_NAMES))
    .option('--timeout <time>', `timeout of an execution: 30, 30s, 2m, 500ms (default: ${timeLimit})`)
    .option('--memory <size>', 'memory of the sandbox, including its files: 512m, 2g (default: 2g)')
    .option('--cpus <number>', 'number of CPUs, such as 0.5 or 2 (default: 1)')
    .option(
      '--mount <source:target[:rw]>',
      'mount a folder of this machine, read-only without :rw; repeatable',
      collect,
    )
    .option(
      '--network <rule>',
      'what the sandbox may reach: registries, all, host, *.host, host:port, !rule; repeatable (default: none)',
      collect,
    )
    .option(
      '--service <name>',
      'a service of the configuration (forwards, credentials) that the sandbox may use; repeatable',
      collect,
    )
    .option('--image <name>', `container image to run in (${driversWith('images', DRIVERS).join(', ')})`);
}

export function isolationOption(): Option {
  const values = ['auto', ...DRIVER_NAMES];
  return valued('--isolation <driver>', 'isolation driver (default: auto, the strongest available)', values);
}

/** The option without its values: reading the table of languages would slow down every start of the program. */
export function languageOption(byDefault: string): Option {
  return new Option('--language <name>', `python, bash, javascript, go, … (default: ${byDefault})`);
}

/**
 * An option with known values, which help and completion show. Not commander's `choices`, whose error has no remedy.
 */
export function valued(flags: string, description: string, values: readonly string[]): Option {
  const option = new Option(flags, description);
  option.argChoices = [...values];
  return option;
}

/** The same for an argument: `unknown-name.ts` says what was meant. */
export function namedArgument(name: string, description: string, values: readonly string[]): Argument {
  const argument = new Argument(name, description);
  argument.argChoices = [...values];
  return argument;
}

export function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}
