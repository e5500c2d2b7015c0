import { existsSync } from 'node:fs';
import { Agent } from 'node:http';
import type Docker from 'dockerode';
import { either } from '../../lib/abort.ts';
import type { DriverName } from '../../sandbox/isolation.ts';
import { answeredRequests } from './answered-requests.ts';
import { type EngineAddress, engineAddress } from './engine-address.ts';
import { engineError, isUnreachable, relativeCertificates, unreachable } from './engine-errors.ts';

/** A connected engine: a client with the right API version, and the facts that the engine reported. */
export interface Engine {
  readonly docker: Docker;
  /** The kernel release of its containers, unless their runtime has its own kernel. */
  readonly kernel: string;
}

/**
 * The connection to the engine. Nothing is imported or connected before `connect`. The result is cached until the
 * engine cannot be reached, because another engine may answer then.
 */
export interface EngineConnector {
  readonly address: EngineAddress;
  connect(options?: { signal?: AbortSignal }): Promise<Engine>;
  /** Sends one request to the engine. A failure is a HotcellError that names the request. */
  ask<T>(doing: string, request: (engine: Engine) => Promise<T>, options?: { signal?: AbortSignal }): Promise<T>;
  close(): void;
}

/**
 * The newest API version that Hotcell was written for. Newer engines still support it; for an older engine its own
 * version is used.
 */
const NEWEST_API = '1.47';
const CONNECT_MS = 5_000;

export function createEngineConnector(driver: DriverName, address: EngineAddress = engineAddress()): EngineConnector {
  const agent = address.socketPath === undefined ? undefined : new Agent({ keepAlive: true, maxFreeSockets: 8 });
  let connecting: Promise<Engine> | undefined;

  /** Idle connections of an engine that went away may still look open; a request on one of them would fail. */
  function forget(): void {
    connecting = undefined;
    for (const idle of Object.values(agent?.freeSockets ?? {})) {
      for (const socket of idle ?? []) socket.destroy();
    }
  }

  async function connect({ signal }: { signal?: AbortSignal } = {}): Promise<Engine> {
    if (address.relativeCertificates !== undefined) throw relativeCertificates(driver, address.relativeCertificates);
    // This check is cheaper than loading dockerode, and common: no Docker is installed.
    if (address.socketPath?.startsWith('/') && !existsSync(address.socketPath)) {
      forget();
      throw unreachable(driver, address.shown, { code: 'ENOENT' });
    }
    const attempt = connecting ?? negotiate(address, agent, signal);
    connecting = attempt;
    try {
      return await attempt;
    } catch (error) {
      if (connecting === attempt) connecting = undefined;
      throw engineError(driver, address.shown, 'say which version it speaks', error);
    }
  }

  return {
    address,
    connect,
    ask: async (doing, request, options) => {
      const engine = await connect(options);
      try {
        return await request(engine);
      } catch (thrown) {
        const error = engineError(driver, address.shown, doing, thrown);
        if (isUnreachable(error)) forget();
        throw error;
      }
    },
    close: () => {
      connecting = undefined;
      agent?.destroy();
    },
  };
}

async function negotiate(address: EngineAddress, agent?: Agent, signal?: AbortSignal): Promise<Engine> {
  const { default: Client } = await import('dockerode');
  const options = address.socketPath === undefined ? {} : { socketPath: address.socketPath, agent };
  const abortSignal = either(AbortSignal.timeout(CONNECT_MS), signal);
  const first = answeredRequests(new Client(options));
  const asked = (await first.version({ abortSignal } as never)) as unknown as VersionReply;
  const version = `v${apiVersion(asked.ApiVersion, asked.MinAPIVersion)}`;
  return {
    docker: answeredRequests(new Client({ ...options, version })),
    kernel: asked.KernelVersion ?? '',
  };
}

interface VersionReply {
  ApiVersion: string;
  MinAPIVersion?: string;
  KernelVersion?: string;
}

/** The newest version that both sides support, or the engine's oldest if it no longer supports ours. */
export function apiVersion(newestOfEngine: string, oldestOfEngine = '1.12'): string {
  if (isOlder(newestOfEngine, NEWEST_API)) return newestOfEngine;
  return isOlder(NEWEST_API, oldestOfEngine) ? oldestOfEngine : NEWEST_API;
}

function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [otherMajor = 0, otherMinor = 0] = than.split('.').map(Number);
  return major < otherMajor || (major === otherMajor && minor < otherMinor);
}
