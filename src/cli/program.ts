import { Command, CommanderError } from 'commander';
import { HotcellError } from '../errors/hotcell-error.ts';
import { errorText, exitCodeOf, presentError } from '../errors/present.ts';
import { packageVersion } from '../lib/package-version.ts';
import { completionCommand } from './commands/completion.ts';
import { configCommand } from './commands/config.ts';
import { demoCommand } from './commands/demo.ts';
import { doctorCommand } from './commands/doctor.ts';
import { installCommand } from './commands/install.ts';
import { mcpCommand } from './commands/mcp.ts';
import { packagesCommand } from './commands/packages.ts';
import { replCommand } from './commands/repl.ts';
import { runCommand } from './commands/run.ts';
import { serveCommand } from './commands/serve.ts';
import { sessionsCommand } from './commands/sessions.ts';
import { setupCommand } from './commands/setup.ts';
import { shellCommand } from './commands/shell.ts';
import { statusCommand } from './commands/status.ts';
import { tokenCommand } from './commands/token.ts';
import { uninstallCommand } from './commands/uninstall.ts';
import { versionCommand } from './commands/version.ts';
import { holdCurrentFolder } from './current-folder.ts';
import { onBrokenStdout, routeConsole, standardOutputs } from './output.ts';

/** EX_IOERR of sysexits.h: an input or output error. */
const EXIT_NOT_WRITTEN = 74;

/** Parses the command line, runs the command and sets the exit code. Never rejects. */
export async function runCli(argv: readonly string[]): Promise<void> {
  routeConsole(standardOutputs().stderr);
  watchStandardStreams();
  // The library never keeps a process alive by itself. Without this timer, Node could exit in the middle of a command.
  const alive = setInterval(() => {}, 2 ** 30);
  try {
    const [, , name = ''] = argv;
    if (Object.hasOwn(INSTEAD, name)) {
      throw new HotcellError('invalid_argument', `there is no command ${name}`, { remedy: INSTEAD[name]! });
    }
    holdCurrentFolder();
    await createProgram(argv[2]).parseAsync([...argv]);
  } catch (thrown) {
    process.exitCode = fail(thrown, argv.includes('--json'));
  } finally {
    clearInterval(alive);
  }
}

/** The commands. Their files contain flags and help only; the implementation is imported when a command runs. */
const COMMANDS: Readonly<Record<string, () => Command>> = {
  run: runCommand,
  repl: replCommand,
  shell: shellCommand,
  mcp: mcpCommand,
  serve: serveCommand,
  install: installCommand,
  token: tokenCommand,
  sessions: sessionsCommand,
  packages: packagesCommand,
  config: configCommand,
  doctor: doctorCommand,
  setup: setupCommand,
  status: statusCommand,
  uninstall: uninstallCommand,
  demo: demoCommand,
  completion: completionCommand,
  version: versionCommand,
};

/**
 * The whole program; or, if `only` names a command, a program with that command, which is made in less time.
 * `completion` describes all of them.
 */
export function createProgram(only?: string): Command {
  const { stdout, stderr } = standardOutputs();
  const program = new Command('hotcell')
    .configureOutput({ writeOut: (text) => void stdout.write(text), writeErr: (text) => void stderr.write(text) })
    .description('Runs the code that AI agents write, in a sandbox on your own machine.')
    .helpCommand('help [command]', 'Show the help of a command')
    .helpOption('-h, --help', 'Show this help')
    .option('-V, --version', 'Print the version')
    .on('option:version', () => {
      void standardOutputs().stdout.say(packageVersion());
      throw new CommanderError(0, 'commander.version', '');
    })
    .showHelpAfterError('Run with --help to see all commands and options.')
    .addHelpText('after', EXAMPLES);
  const isNamed = only !== undefined && only !== 'completion' && Object.hasOwn(COMMANDS, only);
  for (const [name, make] of Object.entries(COMMANDS)) {
    if (isNamed && name !== only) continue;
    const command = make();
    program.addCommand(command.copyInheritedSettings(program));
    for (const below of command.commands) below.copyInheritedSettings(command);
  }
  for (const command of program.commands) if (!WITHOUT_CONFIG.has(command.name())) addConfigFlag(command);
  for (const command of [program, ...program.commands.flatMap((each) => [each, ...each.commands])])
    command.exitOverride();
  return program;
}

/** What to do instead of commands that people try. */
const INSTEAD: Readonly<Record<string, string>> = {
  stop: 'Press Ctrl-C in the terminal of the server, or run: kill <pid>. `hotcell status` names the pid.',
  start: 'Run: hotcell serve',
  ps: 'Run: hotcell status',
  upgrade: 'In a clone, run: git pull && npm start. Otherwise install the new package: npm install -g <package>',
  update: 'In a clone, run: git pull && npm start. Otherwise install the new package: npm install -g <package>',
  exec: "To run code: hotcell run -c 'print(6 * 7)'. A command in a session: hotcell shell <session> <command>",
};

/** Commands that read no configuration. */
const WITHOUT_CONFIG: ReadonlySet<string> = new Set(['install', 'completion', 'version']);

/** `--config FILE` before or after a subcommand. It takes effect before any option is read. */
function addConfigFlag(command: Command): void {
  command.option('--config <file>', 'read options from this file (default: config.json in the data folder)');
  command.hook('preAction', async (_, action) => {
    const { config } = action.optsWithGlobals<{ config?: string }>();
    if (config !== undefined) {
      const { namedFilePath } = await import('./named-path.ts');
      (await import('../config/load.ts')).useConfigFile(namedFilePath(config));
    }
    if (RUNS_PROGRAMS.has(topName(action))) await passOverConfiguredRoots();
  });
}

/** Commands that run programs of the host, and open no sessions with mounts. */
const RUNS_PROGRAMS: ReadonlySet<string> = new Set(['status', 'doctor', 'setup', 'uninstall']);

function topName(command: Command): string {
  return command.parent?.parent ? topName(command.parent) : command.name();
}

/** SECURITY: a client may have had a sandbox write a program to such a folder, which is on the search path here. */
async function passOverConfiguredRoots(): Promise<void> {
  const { loadConfig } = await import('../config/load.ts');
  const { passOverMountRoots } = await import('../lib/program-folders.ts');
  try {
    passOverMountRoots(loadConfig().mountRoots);
  } catch {
    // The command itself reports an invalid configuration, if it needs one.
  }
}

const EXAMPLES = `
Examples:
  $ hotcell run -c 'print(6 * 7)'         run code in a new sandbox
  $ hotcell run script.py                 run a file; - reads stdin
  $ hotcell repl                          an interactive session in a sandbox
  $ hotcell shell analysis                a terminal in a session of a server
  $ hotcell doctor                        what works on this machine, and how to fix the rest
  $ hotcell serve                         a server for MCP clients, on this machine
  $ hotcell install claude-code           add Hotcell to the configuration of a client
  $ hotcell demo                          a worked example: a CSV in, a summary and a chart out
`;

/**
 * `hotcell … | head`: a reader that stops is no error; a full disk is reported. `run` listens too, and ends the
 * program.
 */
function watchStandardStreams(): void {
  let isTold = false;
  onBrokenStdout((error) => {
    if (isTold || error.code === 'EPIPE') return;
    isTold = true;
    void standardOutputs().stderr.say(`hotcell: standard output cannot be written: ${error.message}`);
    process.once('exit', () => {
      process.exitCode = EXIT_NOT_WRITTEN;
    });
  });
}

function fail(thrown: unknown, asJson: boolean): number {
  if (thrown instanceof CommanderError) return failUsage(thrown, asJson);
  const exitCode = exitCodeOf(thrown);
  const { stdout, stderr } = standardOutputs();
  if (asJson) void stdout.json({ error: presentError(thrown), exitCode });
  else void stderr.say(errorText(thrown));
  return exitCode;
}

/**
 * The exit code of an error of commander: 0 for help and version; otherwise a usage error, which it has printed to
 * stderr.
 */
function failUsage({ exitCode, message }: CommanderError, asJson: boolean): number {
  if (exitCode === 0) return 0;
  const error = new HotcellError('invalid_argument', message.replace(/^error: /, ''), {
    remedy: 'Run with --help to see all commands and options.',
  });
  return asJson ? fail(error, asJson) : exitCodeOf(error);
}
