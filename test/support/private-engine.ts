import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { debianBase, officialBase, standardImageTag } from '../../src/drivers/docker/image.ts';
import { findProgram } from '../../src/lib/find-program.ts';
import { killIfThere } from '../../src/lib/kill-if-there.ts';
import { hostProcesses } from './host-processes.ts';
import { requireAll } from './targets.ts';

/** A Docker engine of a test's own, with data, sockets and containers in a temporary folder, to be stopped and broken at will. */
export interface PrivateEngine {
  readonly socketPath: string;
  /** An image that it has, with a Python in it. */
  readonly image: string;
  docker(...args: string[]): string;
  start(): Promise<void>;
  /** SIGKILL: the engine is gone without a word, its containers are not. */
  crash(): Promise<void>;
  /** SIGTERM: it ends its containers first. */
  stop(): Promise<void>;
  /** An image of nothing but an empty file. */
  importEmptyImage(name: string): void;
  remove(): Promise<void>;
}

const START_MS = 30_000;

/** Why there cannot be one here, or nothing. Where every driver is required, that is a failure. */
export function reasonWithoutEngine(): string | undefined {
  const reason =
    process.getuid?.() !== 0
      ? 'starting a Docker engine needs root'
      : findProgram('dockerd') === undefined
        ? 'dockerd is not installed'
        : findImage() === undefined
          ? 'there is no image with a Python to give it'
          : undefined;
  if (reason !== undefined && requireAll()) throw new Error(`a private engine cannot be tried here: ${reason}`);
  return reason;
}

export async function startPrivateEngine(): Promise<PrivateEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'hce-'));
  const socketPath = join(folder, 'docker.sock');
  const logPath = join(folder, 'log');
  const image = findImage()!;
  const docker = (...args: string[]) =>
    execFileSync('docker', ['--host', `unix://${socketPath}`, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  let daemon: ChildProcess | undefined;

  async function start(): Promise<void> {
    const log = openSync(logPath, 'a');
    daemon = spawn(findProgram('dockerd')!, daemonArguments(folder, socketPath), { stdio: ['ignore', log, log] });
    closeSync(log);
    for (const startedAt = performance.now(); ; await sleep(50)) {
      try {
        docker('version');
        return;
      } catch (error) {
        const late = performance.now() - startedAt > START_MS || daemon.exitCode !== null;
        if (late)
          throw new Error(`the engine did not start: ${readFileSync(logPath, 'utf8').slice(-1_000)}`, { cause: error });
      }
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = daemon;
    daemon = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    ending.kill(signal);
    await once(ending, 'exit');
  }

  async function remove(): Promise<void> {
    await end('SIGTERM');
    // Shims of an engine that crashed outlive it; they name its folder.
    for (const { pid, command } of hostProcesses()) if (command.includes(folder)) killIfThere(pid);
    unmountBelow(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  const engine: PrivateEngine = {
    socketPath,
    image,
    docker,
    start,
    crash: async () => {
      await end('SIGKILL');
      // A zombie passes for a running containerd until somebody reaps it; the engine would wait for that one.
      rmSync(join(folder, 'exec', 'containerd', 'containerd.pid'), { force: true });
    },
    stop: () => end('SIGTERM'),
    importEmptyImage: (name) => {
      const content = join(folder, 'empty');
      mkdirSync(content, { recursive: true });
      writeFileSync(join(content, 'file'), '');
      execFileSync('tar', ['-cf', join(folder, 'empty.tar'), '-C', content, '.']);
      docker('import', join(folder, 'empty.tar'), name);
    },
    remove,
  };
  try {
    await start();
    execFileSync('sh', ['-c', 'docker save "$1" | docker --host "unix://$2" load', 'sh', image, socketPath], {
      stdio: 'pipe',
    });
    return engine;
  } catch (error) {
    await remove();
    throw error;
  }
}

function daemonArguments(folder: string, socketPath: string): string[] {
  return [
    ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '--pidfile', join(folder, 'pid')],
    ...['--host', `unix://${socketPath}`, '--shutdown-timeout', '2'],
    ...['--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-masq=false'],
  ];
}

/** The smallest that this host's own engine has. */
function findImage(): string | undefined {
  return [debianBase.image, officialBase.image, standardImageTag()].find((name) => {
    try {
      execFileSync('docker', ['image', 'inspect', name], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  });
}

function unmountBelow(folder: string): void {
  if (!existsSync('/proc/mounts')) return;
  const points = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((point) => point.startsWith(`${folder}/`));
  // Who was killed just now may be unmounting them too: what counts is that none is left, which the removal of the folder finds out.
  for (const point of points.reverse()) spawnSync('umount', ['--lazy', point], { stdio: 'ignore' });
}
