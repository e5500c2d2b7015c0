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
import { startOf } from './real-pid.ts';
import { INSIDE_UID } from './session-uids.ts';

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
  /** The system call filter that bubblewrap installs before it starts the jailed program. */
  readonly filter: Buffer;
  /** The uid_map of the jail's user namespace, where it has more uids than its own. Only root can write one. */
  readonly uidMap?: string | undefined;
  /** Descriptors that bubblewrap gets, from `FIRST_EXTRA_FD` on. */
  readonly extraFds?: readonly number[];
  /** Puts the process, which is to become bubblewrap, into its cgroup. SECURITY: before it makes a cgroup namespace, whose root is then that group; else the
   * sandbox reads the host's names in /proc/self/cgroup. */
  readonly place?: ((pid: number) => Promise<void>) | undefined;
}

const INFO_FD = 4;
const FILTER_FD = 5;
export const FIRST_EXTRA_FD = 6;
const STDERR_TAIL_CHARS = 2_000;

/** Starts as bubblewrap when it is told to. */
const WAIT_TO_START = ['/bin/sh', '-c', 'read -r go && exec "$0" "$@" </dev/null'] as const;

/** Starts bubblewrap with the socket as descriptor 3. Rejects when it does not come up, with nothing left. */
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
    // In a group of its own: Ctrl-C at a terminal is for us to act on, not for the jail to die of.
    detached: true,
    ...(asRoot ? identity : {}),
  });
  const ended = watchEnd(child);
  const info = child.stdio[INFO_FD] as Readable;
  // Through a pipe of its own: a file could be another jail's by the time it is read.
  writeAll(descriptorsOf(child)[FILTER_FD], filter);
  if (place !== undefined) await letGo(child, place);
  const pid = await Promise.race([readChildPid(info), ended.then((said) => failToStart(said))]);
  if (uidMap !== undefined) mapUids(child, { pid, uidMap, gid: identity.gid, blockFd });
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

/** Gives the jail its uids while bubblewrap waits for them. A jail whose uids cannot be mapped is killed. */
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

/** Node's types know five of them. */
function descriptorsOf(child: ChildProcess): readonly Writable[] {
  return child.stdio as unknown as Writable[];
}

/** Its reader may be gone, which `ended` tells. */
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

/** Why a jail ended, with what to do about it where bubblewrap's words tell. `mounts` are those of its sandbox. */
export function jailFailure(message: string, mounts: readonly Mount[] = []): HotcellError {
  // It resolves a path more than once, and finds that it leads elsewhere.
  const missing = message.match(/Can't (?:find source path|get type of source) (\S+): No such file/)?.[1];
  if (mounts.some(({ source }) => source === missing)) return exchanged(String(missing));
  const hidden = message.match(/Can't find source path (\S+): Permission denied/)?.[1];
  if (hidden === undefined) {
    return new HotcellError('start_failed', message, {
      remedy: 'Run `hotcell doctor` to see which feature this host lacks.',
    });
  }
  return new HotcellError('mount_denied', `${hidden} is not accessible for the user that sandboxes run as`, {
    remedy: 'Make every folder on its path searchable: chmod o+x FOLDER.',
  });
}
