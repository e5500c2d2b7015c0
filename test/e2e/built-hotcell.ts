import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../../src/lib/find-program.ts';
import { shellQuoted } from '../../src/lib/shell-quoted.ts';
import { buildOnce } from '../support/built-program.ts';
import { cgroupsNamed } from '../support/cgroups.ts';
import { type CommandLine, EACH_COMMAND, listCommands } from '../support/each-command.ts';
import { strength } from '../support/strength.ts';
import { startOnTerminal, type TerminalProgram } from '../support/terminal.ts';
import { newTestHome } from '../support/test-home.ts';

export const root = new URL('../..', import.meta.url).pathname;

/** The built program in a data folder of its own, so that what it leaves behind can be told from what others do at the same time. */
export interface BuiltHotcell {
  readonly home: string;
  /** Why programs cannot be run here, where they cannot. */
  readonly unavailable: string | undefined;
  run(args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** Runs command lines of the program that read nothing from stdin, one after the other. A plain run starts Node once for all of them. */
  runEach(commands: readonly CommandLine[]): Promise<Finished[]>;
  /** Starts a program of Node's and leaves it to the caller. */
  start(args: readonly string[], stdout?: 'pipe' | number): ChildProcess;
  /** The same with a terminal of its own, where there is a program to make one with. */
  startOnTerminal(args: readonly string[]): ChildProcess | undefined;
  /** The same, for a test that reads the screen. What is in `env` is added to the environment, or taken out of it where it is undefined. */
  onTerminal(
    args: readonly string[],
    options?: { cwd?: string; env?: NodeJS.ProcessEnv; columns?: number; rows?: number },
  ): TerminalProgram;
  /** Every trace of it on this machine: processes, run folders, cgroups. */
  leftovers(): string[];
  remove(): void;
}

export interface RunOptions {
  readonly stdin?: string;
  /** On top of the environment that all of them have. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Finished {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that writes more is ended. */
const MOST_OUTPUT_BYTES = 64 * 1_048_576;

/**
 * Modules that users have preloaded take a second of a processor to import, for each server that a test starts, and a sandbox ahead takes a tenth.
 * `mcp-workflow.test.ts` has all of it.
 */
export const LEAN_SERVER = { HOTCELL_PRELOADS: 'json', HOTCELL_POOL_SIZE: '0' };

/** Files in one worker share the answer, which takes the doctor seconds: it is about the machine. */
let whetherUsable: Promise<string | undefined> | undefined;

/** Builds what is stale and makes the data folder; `variables` are added to the environment of its programs. The Python environment is shared: making one takes a minute. */
export async function buildHotcell(variables: Readonly<Record<string, string>> = {}): Promise<BuiltHotcell> {
  buildOnce();
  const home = newTestHome();
  const env = { ...process.env, HOTCELL_HOME: home, HOTCELL_ISOLATION: 'process', NO_COLOR: '1', ...variables };
  const serving = { ...env, ...LEAN_SERVER };

  function run(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
    return new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        args,
        { cwd: root, env: { ...env, ...options.env }, maxBuffer: MOST_OUTPUT_BYTES },
        (error, stdout, stderr) => {
          const signal = constants.signals[error?.signal as NodeJS.Signals] ?? 0;
          resolve({
            exitCode: error === null ? 0 : typeof error.code === 'number' ? error.code : 128 + signal,
            stdout,
            stderr,
          });
        },
      );
      child.stdin?.on('error', () => {}).end(options.stdin ?? '');
    });
  }

  async function runEach(commands: readonly CommandLine[]): Promise<Finished[]> {
    const finished: Finished[] = [];
    if (strength({ plain: false, all: true })) {
      for (const { args, env: more } of commands)
        finished.push(await run(['dist/cli.js', ...args], { env: more ?? {} }));
      return finished;
    }
    using listed = listCommands(commands);
    const { stdout, stderr } = await run([EACH_COMMAND, 'dist/cli.js', listed.file]);
    const [out, err] = [listed.split(stdout), listed.split(stderr)];
    return commands.map((_, index) => ({
      exitCode: out[index]?.exitCode ?? -1,
      stdout: out[index]?.text ?? '',
      stderr: err[index]?.text ?? stderr,
    }));
  }

  // Without an engine: only what the doctor says of jails is looked at, and containers take a processor for a second.
  const engineless = { DOCKER_HOST: 'unix:///no/engine' };
  const finding =
    whetherUsable ??
    run(['dist/cli.js', 'doctor', '--json'], { env: engineless }).then(({ stdout }) => reasonIn(stdout));
  whetherUsable = finding;
  return {
    home,
    unavailable: await finding,
    run,
    runEach,
    start: (args, stdout = 'pipe') =>
      spawn(process.execPath, args, { cwd: root, env: serving, stdio: ['ignore', stdout, 'pipe'] }),
    startOnTerminal: (args) => {
      const script = findProgram('script');
      if (script === undefined || process.platform !== 'linux') return undefined;
      const command = [process.execPath, ...args].map(shellQuoted).join(' ');
      return spawn(script, ['-qec', command, '/dev/null'], {
        cwd: root,
        env: serving,
        stdio: ['pipe', 'pipe', 'inherit'],
      });
    },
    onTerminal: (args, options = {}) =>
      startOnTerminal([process.execPath, ...args], {
        cwd: root,
        ...options,
        // A person sits at it: where a test runs says nothing about colours there.
        env: { ...serving, CI: undefined, ...options.env },
      }),
    leftovers: () => leftovers(home),
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}

/** A driver that cannot be tested is a skip with its reason, and a failure where all are required. */
function reasonIn(findings: string): string | undefined {
  const { probes } = JSON.parse(findings) as { probes: { driver: string; available: boolean; reason?: string }[] };
  const probe = probes.find(({ driver }) => driver === 'process');
  if (probe?.available === true) return undefined;
  const reason = `the process driver does not work here: ${probe?.reason}`;
  if (process.env.HOTCELL_TEST_REQUIRE === 'all') throw new Error(reason);
  return reason;
}

function leftovers(home: string): string[] {
  const installation = readFileSync(join(home, 'installation'), 'utf8').trim();
  return [
    ...['run', 'servers', 'mounts'].flatMap((name) =>
      existsSync(join(home, name)) ? readdirSync(join(home, name)) : [],
    ),
    ...cgroupsNamed(`hotcell-${installation}`),
    ...processesNaming(home),
  ];
}

/** A jail names the guest's folder, which lies in the home, on its command line. */
function processesNaming(home: string): string[] {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return command.includes(home) ? [`${pid}: ${command.slice(0, 80)}`] : [];
      } catch {
        return []; // it ended meanwhile
      }
    });
}
