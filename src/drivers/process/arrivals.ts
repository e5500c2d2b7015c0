import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { type Deferred, deferred } from '../../lib/deferred.ts';
import { newId } from '../../lib/ids.ts';
import { makeOwnFolder } from '../../lib/own-folder.ts';
import { type ForkedSandbox, refusedStep } from './forked-sandbox.ts';
import type { JailIdentity } from './jail-identity.ts';
import { readOneFrame } from './read-one-frame.ts';

export type Arrival = Pick<ForkedSandbox, 'jailPid' | 'channel'>;

/**
 * The socket by which forks of one zygote connect to the host. It lies in a folder that is bound into their jail. Each
 * fork connects by itself and authenticates with its token.
 */
export interface Arrivals {
  /** The folder with the socket, to be bound into the jail. */
  readonly controlFolder: string;
  /**
   * Resolves with the fork that presents `token`. Rejects with the step that the fork reports as failed, with the
   * signal's reason, or with the error of `end`.
   */
  expect(token: string, signal?: AbortSignal): Promise<Arrival>;
  /** The tokens of forks that have not connected yet. */
  awaited(): string[];
  /** Lets the process exit while it waits for forks. */
  unref(): void;
  /** Stops listening, rejects pending `expect` calls with the error, and removes the folder. */
  end(error: Error): Promise<void>;
}

/** Limits on connections that have not presented a token. */
interface StrangerLimits {
  readonly atOnce: number;
  readonly forMs: number;
}

/** A fork sends its token right after it connects. */
const STRANGERS: StrangerLimits = { atOnce: 32, forMs: 5_000 };

/** Listens on a socket in a new folder below `runDir`. Leaves nothing behind on rejection. */
export async function openArrivals(
  runDir: string,
  identity: JailIdentity,
  limits: StrangerLimits = STRANGERS,
): Promise<Arrivals> {
  makeOwnFolder(runDir, 0o711);
  const folder = join(runDir, newId('jail').slice(0, 16));
  const controlFolder = join(folder, 'control');
  makeControlFolder(controlFolder, identity);
  const expected = new Map<string, Deferred<Arrival>>();
  const strangers = new Set<Socket>();
  const server = createServer((socket) => {
    letWait(socket, strangers, limits);
    receive(socket, expected).then(
      () => strangers.delete(socket),
      () => socket.destroy(),
    );
  });

  async function end(error: Error): Promise<void> {
    server.close();
    for (const socket of strangers) socket.destroy();
    for (const arrival of expected.values()) arrival.reject(error);
    expected.clear();
    await rm(folder, { recursive: true, force: true });
  }

  try {
    await listen(server, join(controlFolder, 'control'));
    openSocket(join(controlFolder, 'control'), identity);
  } catch (error) {
    await end(error as Error);
    throw error;
  }
  return {
    controlFolder,
    awaited: () => [...expected.keys()],
    unref: () => server.unref(),
    end,
    expect: async (token, signal) => {
      const arrival = deferred<Arrival>();
      expected.set(token, arrival);
      const abort = () => arrival.reject(signal?.reason);
      signal?.addEventListener('abort', abort, { once: true });
      try {
        return await arrival.promise;
      } finally {
        expected.delete(token);
        signal?.removeEventListener('abort', abort);
      }
    },
  };
}

/**
 * SECURITY: each connection uses a file descriptor of the server, and a sandbox that reaches the socket can open many.
 * Connections without a token have a timeout and a maximum number; above it the oldest is closed.
 */
function letWait(socket: Socket, strangers: Set<Socket>, { atOnce, forMs }: StrangerLimits): void {
  const shutOut = (stranger: Socket | undefined) => {
    if (stranger !== undefined && strangers.delete(stranger)) stranger.destroy();
  };
  strangers.add(socket);
  const timer = setTimeout(() => shutOut(socket), forMs).unref();
  socket.once('close', () => {
    strangers.delete(socket);
    clearTimeout(timer);
  });
  if (strangers.size > atOnce) shutOut(strangers.values().next().value);
}

/** Reads the token of a connection. An unexpected or malformed one is closed. */
async function receive(socket: Socket, expected: Map<string, Deferred<Arrival>>): Promise<void> {
  const frame = await readOneFrame(socket);
  const arrival = expected.get(String(frame.head.token));
  const jailPid = Number(frame.head.pid);
  if (frame.head.type === 'failed') arrival?.reject(refusedStep(frame));
  if (arrival === undefined || frame.head.type !== 'attach' || !Number.isSafeInteger(jailPid)) socket.destroy();
  else {
    expected.delete(String(frame.head.token)); // a token is valid once
    arrival.resolve({ jailPid, channel: socket });
  }
}

/**
 * SECURITY: only the jail may connect, because this socket is how a process becomes a sandbox of ours. If Hotcell is
 * root, the folders belong to root and the jail has access by its group; as their owner it could replace our socket by
 * its own.
 */
function makeControlFolder(folder: string, identity: JailIdentity): void {
  const mode = isRoot() ? 0o710 : 0o700;
  for (const path of [dirname(folder), folder]) {
    mkdirSync(path, { mode: 0o700 });
    if (isRoot()) chownSync(path, 0, identity.gid);
    chmodSync(path, mode);
  }
}

function openSocket(path: string, identity: JailIdentity): void {
  if (isRoot()) chownSync(path, 0, identity.gid);
  chmodSync(path, isRoot() ? 0o660 : 0o600);
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}
