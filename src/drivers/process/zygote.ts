import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { type Deferred, deferred } from '../../lib/deferred.ts';
import { createFrameDecoder, encodeFrame, type Frame } from '../../lib/frames.ts';
import { newId } from '../../lib/ids.ts';
import type { GuestConfig } from '../../sandbox/guest-config.ts';
import { type JailLayout, sharedJailArguments } from './bwrap-arguments.ts';
import type { JailIdentity } from './jail-identity.ts';
import { jailFailure, startJail } from './jail-process.ts';
import { findRealPid } from './real-pid.ts';

/** The host's side of one zygote: a jail in which sandboxes of one owner are forked. */
export interface Zygote {
  readonly pid: number;
  /** Forks the pid 1 of a new sandbox. It has its namespaces, and waits in `enterSandbox` for what it is to become. */
  fork(options?: { signal?: AbortSignal }): Promise<ForkedSandbox>;
  /** The preloads are in. Never rejects; stays pending if the zygote ends before. */
  readonly warm: Promise<void>;
  /** Never rejects. */
  readonly ended: Promise<string>;
  close(): Promise<void>;
}

/** A process of ours that has run nothing but our code. */
export interface ForkedSandbox {
  readonly pid: number;
  /** The pid in the jail: what tells this process from another that got its number later. */
  readonly jailPid: number;
  readonly channel: Socket;
}

/** What a session's own mounts are to be (guest: jail.py). */
export interface SessionJail {
  readonly diskBytes: number;
  readonly tmpBytes: number;
  readonly shmBytes: number;
  readonly inodes: number;
  readonly mounts: readonly { index: number; target: string }[];
}

export interface ZygoteOptions {
  readonly bwrap: string;
  readonly layout: JailLayout;
  readonly identity: JailIdentity;
  readonly runDir: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly preloads: readonly string[];
}

export async function startZygote(options: ZygoteOptions): Promise<Zygote> {
  mkdirSync(options.runDir, { recursive: true, mode: 0o711 });
  const folder = join(options.runDir, newId('jail').slice(0, 16));
  const controlFolder = join(folder, 'control');
  makeControlFolder(controlFolder, options.identity);
  const arrivals = new Map<string, Deferred<ForkedSandbox>>();
  const server = createServer((socket) => receiveArrival(socket, arrivals));
  try {
    await listen(server, join(controlFolder, 'control'));
    chmodSync(join(controlFolder, 'control'), 0o666); // the folder above lets only the jail's user through
    const jail = await startJail(options.bwrap, sharedJailArguments(options.layout, controlFolder), options.identity);
    return superviseZygote(jail, server, folder, arrivals, options);
  } catch (error) {
    server.close();
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

function superviseZygote(
  jail: Awaited<ReturnType<typeof startJail>>,
  server: Server,
  folder: string,
  arrivals: Map<string, Deferred<ForkedSandbox>>,
  options: ZygoteOptions,
): Zygote {
  const warm = deferred<void>();
  const decoder = createFrameDecoder();
  jail.socket.on('data', (chunk: Buffer) => {
    try {
      for (const frame of decoder.feed(chunk)) if (frame.head.type === 'warm') warm.resolve();
    } catch {
      jail.kill(); // no zygote of ours; its end tells whoever waits
    }
  });
  jail.socket.on('error', () => {});
  // Waiting for a jail must not keep the process alive: the sessions in it do that.
  jail.socket.unref();
  server.unref();
  jail.socket.write(
    encodeFrame({ head: { type: 'configure', environment: options.environment, preloads: options.preloads } }),
  );
  const cleaned = jail.ended.then(async (said) => {
    server.close();
    for (const arrival of arrivals.values()) arrival.reject(jailFailure(`the zygote ended: ${said}`));
    arrivals.clear();
    await rm(folder, { recursive: true, force: true });
  });

  return {
    pid: jail.pid,
    warm: warm.promise,
    ended: jail.ended,
    fork: ({ signal } = {}) => forkSandbox(jail, arrivals, signal),
    close: async () => {
      jail.kill();
      await cleaned;
    },
  };
}

async function forkSandbox(
  jail: { pid: number; socket: Duplex },
  arrivals: Map<string, Deferred<ForkedSandbox>>,
  signal: AbortSignal | undefined,
): Promise<ForkedSandbox> {
  signal?.throwIfAborted();
  if (jail.socket.destroyed) throw jailFailure('the zygote has ended');
  const token = randomBytes(16).toString('hex');
  const arrival = deferred<ForkedSandbox>();
  arrivals.set(token, arrival);
  const abort = () => arrival.reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    jail.socket.write(encodeFrame({ head: { type: 'open', token } }));
    const { jailPid, channel } = await arrival.promise;
    const pid = findRealPid(jail.pid, jailPid);
    if (pid !== undefined) return { pid, jailPid, channel };
    channel.destroy();
    throw new HotcellError('start_failed', 'the sandbox ended before it began');
  } finally {
    arrivals.delete(token);
    signal?.removeEventListener('abort', abort);
  }
}

/** Lets a fork that is in its cgroup fork its first kernel ahead: the longest step of what follows. */
export async function standBy({ channel }: ForkedSandbox): Promise<void> {
  const answer = readOneFrame(channel);
  channel.write(encodeFrame({ head: { type: 'stand-by' } }));
  const { head } = await answer;
  if (head.type !== 'standing-by') throw new HotcellError('start_failed', 'the sandbox could not be made ready ahead');
}

/**
 * Lets a fork become a sandbox, and waits until it says that it has. It builds itself while it is being placed in its cgroup, and closes itself in
 * only then.
 */
export async function enterSandbox(
  { channel }: ForkedSandbox,
  session: { jail: SessionJail; config: GuestConfig },
  placed: Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const answer = readOneFrame(channel, signal);
  answer.catch(() => {});
  channel.write(encodeFrame({ head: { type: 'go', ...session } }));
  await placed;
  channel.write(encodeFrame({ head: { type: 'placed' } }));
  const frame = await answer;
  if (frame.head.type !== 'entered') throw refusedStep(frame);
}

function refusedStep({ head }: Frame): HotcellError {
  const step = String(head.step);
  return new HotcellError('start_failed', `the sandbox could not be closed in (${step}: ${String(head.message)})`, {
    data: { step, errno: Number(head.errno) },
    remedy: 'Run `hotcell doctor` to see what this host refuses.',
  });
}

function readOneFrame(channel: Socket, signal?: AbortSignal): Promise<Frame> {
  const decoder = createFrameDecoder();
  return new Promise<Frame>((resolve, reject) => {
    const done = (settle: () => void) => {
      channel.off('data', onData).off('close', onClose);
      signal?.removeEventListener('abort', onAbort);
      channel.pause();
      settle();
    };
    const onData = (chunk: Buffer) => {
      try {
        for (const frame of decoder.feed(chunk)) return done(() => resolve(frame));
      } catch (error) {
        done(() => reject(error));
      }
    };
    const onClose = () => done(() => reject(new HotcellError('start_failed', 'the sandbox ended before it began')));
    const onAbort = () => done(() => reject(signal?.reason));
    channel
      .on('data', onData)
      .on('close', onClose)
      .on('error', () => {});
    signal?.addEventListener('abort', onAbort, { once: true });
    channel.resume();
    if (channel.destroyed) onClose();
  });
}

function receiveArrival(socket: Socket, arrivals: Map<string, Deferred<ForkedSandbox>>): void {
  readOneFrame(socket).then(
    (frame) => {
      const arrival = arrivals.get(String(frame.head.token));
      const jailPid = Number(frame.head.pid);
      if (frame.head.type === 'failed') arrival?.reject(refusedStep(frame));
      if (arrival === undefined || frame.head.type !== 'attach' || !Number.isSafeInteger(jailPid)) socket.destroy();
      else arrival.resolve({ pid: 0, jailPid, channel: socket });
    },
    () => socket.destroy(),
  );
}

/** Only the jail's user may pass: the socket in it is how a sandbox becomes ours. */
function makeControlFolder(folder: string, identity: JailIdentity): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const path of [join(folder, '..'), folder]) {
    if (process.getuid?.() === 0) chownSync(path, identity.uid, identity.gid);
    chmodSync(path, 0o700);
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}
