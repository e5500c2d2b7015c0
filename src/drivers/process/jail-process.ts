import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { deferred } from '../../lib/deferred.ts';
import { killIfThere } from '../../lib/kill-if-there.ts';
import type { JailIdentity } from './jail-identity.ts';
import { startOf } from './real-pid.ts';

/** A running bubblewrap: the pid of what it jailed, and one socket to it. */
export interface JailProcess {
  /** The jailed pid 1, as the host counts. */
  readonly pid: number;
  readonly socket: Socket;
  /** What it said before it ended, if anything. Never rejects. */
  readonly ended: Promise<string>;
  kill(): void;
}

export interface JailOptions {
  /** Descriptors that the jail gets, from 5 on. */
  readonly extraFds?: readonly number[];
  /** Puts the process, which is to become bubblewrap, into its cgroup. SECURITY: before it makes a cgroup namespace, whose root is then that group; else the
   * sandbox reads the host's names in /proc/self/cgroup. */
  readonly place?: ((pid: number) => Promise<void>) | undefined;
}

const INFO_FD = 4;
const STDERR_TAIL_CHARS = 2_000;

/** Starts as bubblewrap when it is told to. */
const WAIT_TO_START = ['/bin/sh', '-c', 'read -r go && exec "$0" "$@" </dev/null'] as const;

/** Starts bubblewrap with the socket as descriptor 3. Rejects when it does not come up, with nothing left. */
export async function startJail(
  bwrap: string,
  jailArguments: readonly string[],
  identity: JailIdentity,
  { extraFds = [], place }: JailOptions = {},
): Promise<JailProcess> {
  const asRoot = process.getuid?.() === 0;
  const [program, ...args] = [...(place === undefined ? [] : WAIT_TO_START), bwrap, '--info-fd', String(INFO_FD)];
  const child = spawn(program as string, [...args, ...jailArguments], {
    stdio: [place === undefined ? 'ignore' : 'pipe', 'ignore', 'pipe', 'pipe', 'pipe', ...extraFds],
    env: {},
    // In a group of its own: Ctrl-C at a terminal is for us to act on, not for the jail to die of.
    detached: true,
    ...(asRoot ? identity : {}),
  });
  const ended = watchEnd(child);
  const info = child.stdio[INFO_FD] as Readable;
  if (place !== undefined) await letGo(child, place);
  const pid = await Promise.race([readChildPid(info), ended.then((said) => failToStart(said))]);
  const socket = child.stdio[3] as Socket;
  const born = startOf(pid);
  const killJailed = () => {
    if (born !== undefined && startOf(pid) === born) killIfThere(pid);
  };
  // Until bubblewrap has let it go on, what it jailed waits without end for a parent that is gone, and holds all that we wait for.
  child.once('exit', killJailed);
  if (child.exitCode !== null || child.signalCode !== null) killJailed();
  child.unref();
  return {
    pid,
    socket,
    ended,
    kill: () => {
      // Whoever kills it waits for its end, and that alone must keep Node from exiting meanwhile. `close` comes after both.
      child.ref();
      socket.ref();
      killJailed();
      child.kill('SIGKILL');
    },
  };
}

/** Whoever cannot be placed is gone already, or must go: it may run nothing outside its group. */
async function letGo(child: ChildProcess, place: (pid: number) => Promise<void>): Promise<void> {
  const { pid, stdin } = child;
  stdin?.on('error', () => {});
  try {
    if (pid !== undefined) await place(pid);
    stdin?.end('go\n');
  } catch {
    child.kill('SIGKILL');
  }
}

function watchEnd(child: ChildProcess): Promise<string> {
  const ended = deferred<string>();
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-STDERR_TAIL_CHARS);
  });
  child.once('error', (error) => ended.resolve(error.message));
  child.once('close', (code, signal) => ended.resolve(said.trim() || `ended with ${signal ?? `exit code ${code}`}`));
  return ended.promise;
}

/** Reads on after it has the pid: bubblewrap writes in pieces, and one that meets a closed pipe dies half way. */
function readChildPid(info: Readable): Promise<number> {
  return new Promise((resolve) => {
    let text = '';
    info.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const match = text.match(/"child-pid":\s*(\d+)/);
      if (match !== null) resolve(Number(match[1]));
    });
  });
}

function failToStart(said: string): never {
  throw jailFailure(`the jail did not start: ${said}`);
}

/** Why a jail ended, with what to do about it where bubblewrap's words tell. */
export function jailFailure(message: string): HotcellError {
  const hidden = message.match(/Can't find source path (\S+): Permission denied/)?.[1];
  if (hidden === undefined) {
    return new HotcellError('start_failed', message, { remedy: 'Run `hotcell doctor` to see what this host refuses.' });
  }
  return new HotcellError('mount_denied', `${hidden} cannot be entered by the user that sandboxes run as`, {
    remedy: 'Let others pass through every folder on the way to it: chmod o+x FOLDER.',
  });
}
