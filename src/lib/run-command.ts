import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { dirname, isAbsolute } from 'node:path';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';

export interface CommandResult {
  /** 127 where the program does not exist, 128 + n where a signal ended it; never rejects for either. */
  exitCode: number;
  stdout: string;
  /** The last lines of both streams, for an error message. */
  tail: string;
}

export interface CommandOptions {
  signal?: AbortSignal | undefined;
  /** `NEUTRAL_FOLDER` unless it is given. SECURITY: only a folder that is ours. */
  cwd?: string;
  /** Added to this process's own environment. */
  env?: Record<string, string>;
  /** File mode mask of the program, whatever that of this process is. */
  umask?: string;
  onLine?: (line: string) => void;
  /** What the program reads from its standard input, which is otherwise empty. */
  input?: Buffer;
  /** Share this process's terminal, for a program that asks the person something. */
  interactive?: boolean;
}

/**
 * Where programs are started. SECURITY: not where the person stands. That may be a stranger's project or `/tmp`, and programs take modules (`python -m`), versions
 * (pyenv), indexes (uv) and registries (npm) from the folder that they are started in. Windows looks for programs there, too, so there it is Node's own folder.
 */
export const NEUTRAL_FOLDER = process.platform === 'win32' ? dirname(process.execPath) : '/';

const tailLines = 12;
const stdoutLimitChars = 1_000_000;

/**
 * Runs a program to its end. Only an abort rejects; a failure is an exit code. SECURITY: by its absolute path (`find-program.ts`). A bare name would be looked for in every folder of
 * the search path, to which npm adds `node_modules/.bin` of the folder that the person stands in.
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
    env: { ...process.env, ...options.env },
    stdio: options.interactive ? 'inherit' : [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    ...(options.signal ? { signal: options.signal } : {}),
  });
  // A program that ends before it has read all is judged by its exit code.
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

/** What `runCommand` says of a program that does not exist. */
export const NOT_FOUND: CommandResult = { exitCode: 127, stdout: '', tail: 'there is no such program' };

function withUmask(program: string, args: readonly string[], umask: string | undefined): [string, string[]] {
  if (umask === undefined) return [program, [...args]];
  return ['/bin/sh', ['-c', `umask ${umask} && exec "$@"`, 'sh', program, ...args]];
}
