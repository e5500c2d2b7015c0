import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where the engine is to be found. A socket can be looked for without asking; a remote engine cannot. */
export interface EngineAddress {
  /** As a person would write it. */
  readonly shown: string;
  /** Absent for an engine that `DOCKER_HOST` puts elsewhere: dockerode reads that itself, with its certificates. */
  readonly socketPath?: string;
}

const STANDARD_SOCKET = '/var/run/docker.sock';
const WINDOWS_PIPE = '//./pipe/docker_engine';

/** `DOCKER_HOST`, else the first socket that is there: the system's, Docker Desktop's, a rootless engine's. */
export function engineAddress(env: NodeJS.ProcessEnv = process.env, exists = existsSync): EngineAddress {
  const given = env.DOCKER_HOST;
  if (given) {
    const [, path] = /^(?:unix|npipe):\/\/(.*)$/.exec(given) ?? [];
    return path ? { shown: path, socketPath: path } : { shown: given };
  }
  if (process.platform === 'win32') return { shown: WINDOWS_PIPE, socketPath: WINDOWS_PIPE };
  const candidates = [
    STANDARD_SOCKET,
    join(homedir(), '.docker', 'run', 'docker.sock'),
    ...(env.XDG_RUNTIME_DIR ? [join(env.XDG_RUNTIME_DIR, 'docker.sock')] : []),
  ];
  const socketPath = candidates.find((path) => exists(path)) ?? STANDARD_SOCKET;
  return { shown: socketPath, socketPath };
}

/**
 * Whether an engine runs as root on this machine, as far as its socket tells, and so can follow descriptors of this process. One without root or in a machine
 * of its own cannot.
 */
export function followsDescriptors({ socketPath }: EngineAddress, platform = process.platform): boolean {
  if (platform !== 'linux' || socketPath === undefined) return false;
  return !socketPath.startsWith('/run/user/') && !socketPath.includes('/.docker/');
}
