import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { dirname, isAbsolute } from 'node:path';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { childSearchPath } from './program-folders.ts';

export interface CommandResult {
  /** The exit code; 127 if the program does not exist, 128 + n if signal n ended it. Neither rejects. */
  exitCode: number;
  stdout: string;
  /** The last lines of both streams, for an error message. */
  tail: string;
}

export interface CommandOptions {
  signal?: AbortSignal | undefined;
  /** The working directory; by default `NEUTRAL_FOLDER`. SECURITY: only a folder of our own. */
  cwd?: string;
  /** Variables added to the environment of this process. */
  env?: Record<string, string>;
  /** The umask of the program, independent of that of this process. */
  umask?: string;
  onLine?: (line: string) => void;
  /** Standard input of the program; empty by default. */
  input?: Buffer;
  /** Whether the program shares this terminal, to ask the user something. */
  interactive?: boolean;
}

/**
 * The default working directory. SECURITY: the user's current folder is not used. It may be an untrusted project or
 * `/tmp`, and programs load modules (`python -m`), versions (pyenv), indexes (uv) and registries (npm) from it. Windows
 * searches it for programs, too, so there it is Node's own folder.
 */
export const NEUTRAL_FOLDER = process.platform === 'win32' ? dirname(process.execPath) : '/';

const tailLines = 12;
const stdoutLimitChars = 1_000_000;

/**
 * Runs a program to its end. Only an abort rejects; a failure is an exit code. SECURITY: the path must be absolute
 * (`find-program.ts`). A bare name would be searched in every folder of the search path, to which npm adds
 * `node_modules/.bin` of the current folder.
 */
export async function runCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  options.signal?.throwIfAborted();
  if (!isAbsolute(program)) throw new TypeError(`${program} is not the absolute path of a program`);
  const [file, argv] = withUmask(program, args, options.umask);
  const child = spawn(file, argv, {
    cwd: options.cwd ?? NEUTRAL_FOLDER,
    env: { ...process.env, PATH: childSearchPath(), ...options.env },
    stdio: options.interactive ? 'inherit' : [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    ...(options.signal ? { signal: options.signal } : {}),
  });
  // If the program ends before it has read all input, its exit code decides.
  child.stdin?.on('error', () => {}).end(options.input);
  let stdout = '';
  const tail: string[] = [];
  const collect = (stream: NodeJS.ReadableStream | null, keep: boolean) => {
    if (!stream) return;
    createInterface({ input: stream }).on('line', (written) => {
      if (keep && stdout.length < stdoutLimitChars) stdout += `${written}\n`;
      const line = stripVTControlCharacters(written);
      if (line.trim() === '') return;
      tail.push(line);
      if (tail.length > tailLines) tail.shift();
      options.onLine?.(line);
    });
  };
  collect(child.stdout, true);
  collect(child.stderr, false);
  const exitCode = await new Promise<number>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'EACCES') resolve(127);
      else reject(error);
    });
    child.once('close', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
  return { exitCode, stdout, tail: tail.join('\n') };
}

/** The result of `runCommand` for a program that does not exist. */
export const NOT_FOUND: CommandResult = { exitCode: 127, stdout: '', tail: 'there is no such program' };

function withUmask(program: string, args: readonly string[], umask: string | undefined): [string, string[]] {
  if (umask === undefined) return [program, [...args]];
  return ['/bin/sh', ['-c', `umask ${umask} && exec "$@"`, 'sh', program, ...args]];
}
