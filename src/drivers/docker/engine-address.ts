import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { absolutePath, homeFolder, runtimeFolder } from '../../lib/user-folders.ts';

/** The address of the engine. A socket can be checked for existence without a request; a remote engine cannot. */
export interface EngineAddress {
  /** The address as shown in messages. */
  readonly shown: string;
  /**
   * The path of the socket. Absent if `DOCKER_HOST` names a remote engine: dockerode reads that variable itself, with
   * its certificates.
   */
  readonly socketPath?: string;
  /** A relative `DOCKER_CERT_PATH`, which dockerode would look for in the current folder. */
  readonly relativeCertificates?: string;
}

const STANDARD_SOCKET = '/var/run/docker.sock';
const WINDOWS_PIPE = '//./pipe/docker_engine';

/** `DOCKER_HOST` with an absolute path or a remote engine, else the first socket that exists: the system's, Docker Desktop's, a rootless engine's. */
export function engineAddress(env: NodeJS.ProcessEnv = process.env, exists = existsSync): EngineAddress {
  const given = env.DOCKER_HOST;
  const [, named] = /^(?:unix|npipe):\/\/(.*)$/.exec(given ?? '') ?? [];
  if (given && named === undefined) return { shown: given, ...relativeCertificates(env) };
  const local = absolutePath(named);
  if (local !== undefined) return { shown: local, socketPath: local };
  if (process.platform === 'win32') return { shown: WINDOWS_PIPE, socketPath: WINDOWS_PIPE };
  const sockets = runtimeFolder(env);
  const candidates = [
    STANDARD_SOCKET,
    join(homeFolder(), '.docker', 'run', 'docker.sock'),
    ...(sockets === undefined ? [] : [join(sockets, 'docker.sock')]),
  ];
  const socketPath = candidates.find((path) => exists(path)) ?? STANDARD_SOCKET;
  return { shown: socketPath, socketPath };
}

function relativeCertificates({ DOCKER_CERT_PATH: path }: NodeJS.ProcessEnv): Partial<EngineAddress> {
  return path && absolutePath(path) === undefined ? { relativeCertificates: path } : {};
}

/**
 * Whether the engine runs as root on this machine, judged by its socket, and so can follow descriptors of this process.
 * A rootless engine, or one in a virtual machine, cannot.
 */
export function followsDescriptors({ socketPath }: EngineAddress, platform = process.platform): boolean {
  if (platform !== 'linux' || socketPath === undefined) return false;
  return !socketPath.startsWith('/run/user/') && !socketPath.includes('/.docker/');
}
