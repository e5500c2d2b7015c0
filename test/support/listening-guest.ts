import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseInterpreter } from '../../src/drivers/process/interpreter.ts';
import { packageRoot } from '../../src/lib/package-root.ts';
import { type GuestConfig, standardEnvironment } from '../../src/sandbox/guest-config.ts';
import { until } from './host-processes.ts';

/** The real guest without a sandbox around it, on a socket that can be connected to again and again. */
export interface ListeningGuest extends AsyncDisposable {
  readonly config: GuestConfig;
  readonly workspace: string;
  connect(): Promise<Socket>;
  /** Files are how a program says how far it is while there is no channel. */
  fileAppears(name: string): Promise<void>;
  /** The most memory that the supervisor has had in use so far. */
  peakMemoryBytes(): Promise<number>;
  /** Resolves with its exit code. */
  readonly exited: Promise<number | null>;
}

const MiB = 1_048_576;
const START =
  'import sys; sys.path.insert(0, sys.argv[1]); from hotcell_guest.__main__ import main; main(sys.argv[2:])';

export async function startListeningGuest(): Promise<ListeningGuest> {
  const interpreter = await chooseInterpreter();
  if (interpreter === undefined) throw new Error('there is no Python of 3.9 or later here');
  const folder = await mkdtemp(join(tmpdir(), 'hotcell-guest-'));
  const socketPath = join(folder, 'channel');
  const child = spawn(
    interpreter.python,
    ['-I', '-c', START, join(packageRoot(), 'guest'), 'sandbox', '--listen', socketPath, '--workspace', folder],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  await appearance(folder, socketPath, child);
  return {
    workspace: folder,
    exited,
    config: {
      limits: { memoryBytes: 512 * MiB, openFiles: 256, fileBytes: 64 * MiB, cpus: 1 },
      preloads: [],
      environment: standardEnvironment({ path: '/usr/local/bin:/usr/bin:/bin', findsLayers: true }),
    },
    connect: async () => {
      const socket = connect(socketPath);
      await once(socket, 'connect');
      return socket;
    },
    fileAppears: async (name) => {
      await until(() => existsSync(join(folder, name)), `there is ${name}`);
    },
    peakMemoryBytes: async () => {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when the guest listens: its socket gets its name last. */
async function appearance(folder: string, path: string, child: ChildProcess): Promise<void> {
  const changes = new AbortController();
  const ended = once(child, 'exit', { signal: changes.signal }).then(
    () => {
      throw new Error('the guest ended before it listened');
    },
    () => {},
  );
  const seen = new Promise<void>((resolve) => {
    const look = () => existsSync(path) && resolve();
    watch(folder, { signal: changes.signal }, look);
    look();
  });
  try {
    await Promise.race([seen, ended]);
  } finally {
    changes.abort();
  }
}
