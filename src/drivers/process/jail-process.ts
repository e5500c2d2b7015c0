import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { deferred } from '../../lib/deferred.ts';
import { killIfThere } from '../../lib/kill-if-there.ts';
import { exchanged } from '../../sandbox/mount-denied.ts';
import type { Mount } from '../../sandbox/spec.ts';
import type { JailIdentity } from './jail-identity.ts';
import { jailRemedy } from './jail-remedy.ts';
import { startOf } from './real-pid.ts';
import { INSIDE_UID } from './session-uids.ts';

/** A running bubblewrap: the pid of the jailed process, and a socket to it. */
export interface JailProcess {
  /** The pid of the jailed pid 1, on the host. */
  readonly pid: number;
  readonly socket: Socket;
  /** Resolves with its last output on standard error, or how it ended. Never rejects. */
  readonly ended: Promise<string>;
  kill(): void;
}

export interface JailOptions {
  /**
   * Makes the system call filter that bubblewrap installs before it starts the jailed program. Called when bubblewrap
   * is starting, because that takes longer.
   */
  readonly filter: () => Buffer;
  /** The uid_map of the jail's user namespace, if it has more uids than its own. Only root can write one. */
  readonly uidMap?: string | undefined;
  /** Descriptors passed to bubblewrap, from `FIRST_EXTRA_FD` on. */
  readonly extraFds?: readonly number[];
  /**
   * Moves the future bubblewrap process into its cgroup. SECURITY: this happens before it makes a cgroup namespace,
   * whose root is then that group; otherwise the sandbox could read the host's names in /proc/self/cgroup.
   */
  readonly place?: ((pid: number) => Promise<void>) | undefined;
}

const INFO_FD = 4;
const FILTER_FD = 5;
export const FIRST_EXTRA_FD = 6;
const STDERR_TAIL_CHARS = 2_000;

/** A shell that waits for a line and then executes bubblewrap. */
const WAIT_TO_START = ['/bin/sh', '-c', 'read -r go && exec "$0" "$@" </dev/null'] as const;

/** Starts bubblewrap with the socket as descriptor 3. Leaves nothing behind on rejection. */
export async function startJail(
  bwrap: string,
  jailArguments: readonly string[],
  identity: JailIdentity,
  { filter, uidMap, extraFds = [], place }: JailOptions,
): Promise<JailProcess> {
  const asRoot = process.getuid?.() === 0;
  const blockFd = FIRST_EXTRA_FD + extraFds.length;
  const [program, ...args] = [
    ...(place === undefined ? [] : WAIT_TO_START),
    ...[bwrap, '--info-fd', String(INFO_FD), '--seccomp', String(FILTER_FD)],
    ...(uidMap === undefined ? [] : ['--unshare-user', '--userns-block-fd', String(blockFd)]),
  ];
  const child = spawn(program as string, [...args, ...jailArguments], {
    stdio: [
      ...([place === undefined ? 'ignore' : 'pipe', 'ignore', 'pipe', 'pipe', 'pipe', 'pipe'] as const),
      ...extraFds,
      ...(uidMap === undefined ? [] : (['pipe'] as const)),
    ],
    cwd: '/',
    env: {},
    // Own process group: Hotcell handles Ctrl-C in a terminal; the jail must not get the signal.
    detached: true,
    ...(asRoot ? identity : {}),
  });
  const ended = watchEnd(child);
  const info = child.stdio[INFO_FD] as Readable;
  const isLetGo = place === undefined ? undefined : letGo(child, place);
  sendFilter(child, filter);
  await isLetGo;
  const pid = await Promise.race([readChildPid(info), ended.then((said) => failToStart(said))]);
  if (uidMap !== undefined) mapUids(child, { pid, uidMap, gid: identity.gid, blockFd });
  const socket = child.stdio[3] as Socket;
  const born = startOf(pid);
  const killJailed = () => {
    if (born !== undefined && startOf(pid) === born) killIfThere(pid);
  };
  // If bubblewrap ends during setup, the jailed process waits for ever for its parent and holds our descriptors open,
  // so it is killed.
  child.once('exit', killJailed);
  if (child.exitCode !== null || child.signalCode !== null) killJailed();
  child.unref();
  return {
    pid,
    socket,
    ended,
    kill: () => {
      // The caller waits for the end of the jail, so Node must not exit meanwhile. `close` follows the end of both.
      child.ref();
      socket.ref();
      killJailed();
      child.kill('SIGKILL');
    },
  };
}

/**
 * Lets bubblewrap start once it is in its cgroup. If it cannot be moved, it is killed: it may run nothing outside its
 * group.
 */
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

/** If there is no filter, such as for an unknown architecture, the jail is killed before it runs anything. */
function sendFilter(child: ChildProcess, filter: () => Buffer): void {
  try {
    // Each jail has its own pipe: a shared file could hold another jail's filter by the time it is read.
    writeAll(descriptorsOf(child)[FILTER_FD], filter());
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

/** Writes the jail's uid map while bubblewrap waits for it. If that fails, the jail is killed. */
function mapUids(
  child: ChildProcess,
  { pid, uidMap, gid, blockFd }: { pid: number; uidMap: string; gid: number; blockFd: number },
): void {
  try {
    writeFileSync(`/proc/${pid}/setgroups`, 'deny');
    writeFileSync(`/proc/${pid}/uid_map`, uidMap);
    writeFileSync(`/proc/${pid}/gid_map`, `${INSIDE_UID} ${gid} 1\n`);
    writeAll(descriptorsOf(child)[blockFd], 'mapped');
  } catch (error) {
    child.kill('SIGKILL');
    killIfThere(pid);
    throw jailFailure(`the jail could not be given its uids: ${(error as Error).message}`);
  }
}

/** The extra descriptors of a child; Node's types know only five. */
function descriptorsOf(child: ChildProcess): readonly Writable[] {
  return child.stdio as unknown as Writable[];
}

/** Writes and closes. Errors are ignored: if the reader is gone, `ended` reports it. */
function writeAll(stream: Writable | undefined, data: string | Buffer): void {
  stream?.on('error', () => {});
  stream?.end(data);
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

/**
 * Reads the child's pid from bubblewrap's info pipe. It reads on after that: bubblewrap writes in pieces and would die
 * of a closed pipe.
 */
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

/**
 * The error for a jail that ended, with a remedy if bubblewrap's message allows one. `mounts` are those of its sandbox.
 */
export function jailFailure(message: string, mounts: readonly Mount[] = []): HotcellError {
  // bubblewrap resolves a path more than once; the folder was exchanged in between.
  const missing = message.match(/Can't (?:find source path|get type of source) (\S+): No such file/)?.[1];
  if (mounts.some(({ source }) => source === missing)) return exchanged(String(missing));
  const hidden = message.match(/Can't find source path (\S+): Permission denied/)?.[1];
  if (hidden === undefined) {
    return new HotcellError('start_failed', message, { remedy: jailRemedy(message) });
  }
  return new HotcellError('mount_denied', `${hidden} is not accessible for the user that sandboxes run as`, {
    remedy: 'Make every folder on its path searchable: chmod o+x FOLDER.',
  });
}
