import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The address of the engine. A socket can be checked for existence without a request; a remote engine cannot. */
export interface EngineAddress {
  /** The address as shown in messages. */
  readonly shown: string;
  /**
   * The path of the socket. Absent if `DOCKER_HOST` names a remote engine: dockerode reads that variable itself, with
   * its certificates.
   */
  readonly socketPath?: string;
}

const STANDARD_SOCKET = '/var/run/docker.sock';
const WINDOWS_PIPE = '//./pipe/docker_engine';

/** `DOCKER_HOST`, else the first socket that exists: the system's, Docker Desktop's, a rootless engine's. */
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
 * Whether the engine runs as root on this machine, judged by its socket, and so can follow descriptors of this process.
 * A rootless engine, or one in a virtual machine, cannot.
 */
export function followsDescriptors({ socketPath }: EngineAddress, platform = process.platform): boolean {
  if (platform !== 'linux' || socketPath === undefined) return false;
  return !socketPath.startsWith('/run/user/') && !socketPath.includes('/.docker/');
}
