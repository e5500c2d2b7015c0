import type { Duplex } from 'node:stream';
import type { Container, ContainerCreateOptions } from 'dockerode';
import { unlessAborted } from '../../lib/abort.ts';
import type { SandboxEnd } from '../../sandbox/driver.ts';
import type { DriverName } from '../../sandbox/isolation.ts';
import { takeFirstLine } from '../pipe-guest/first-line.ts';
import type { GuestBundle } from '../pipe-guest/guest-bundle.ts';
import { parseReadyLine, type ReadyLine } from '../pipe-guest/ready-line.ts';
import { attachedChannel } from './attached-channel.ts';
import { howItEnded, isRunning } from './container-end.ts';
import type { Engine, EngineConnector } from './engine.ts';
import { imageBroken, imageMissing, mountRefused, reasonOf, statusOf, volumesNotCovered } from './engine-errors.ts';
import { openRelay, type RelayWay } from './relay.ts';

/** A running container with a listening guest. */
export interface StartedContainer {
  readonly channel: Duplex;
  readonly ready: ReadyLine;
  /**
   * Why the channel closed; undefined if our side closed it. Call it before the container is removed. Never rejects.
   */
  howItEnded(): Promise<SandboxEnd | undefined>;
  /** Opens another channel to the same guest. */
  readonly reconnect?: ReconnectContainer;
}

export type ReconnectContainer = (options?: { signal?: AbortSignal }) => Promise<Duplex>;

export interface StartOptions {
  readonly driver: DriverName;
  readonly name: string;
  /** The image name that the caller gave. */
  readonly image: string;
  readonly config: ContainerCreateOptions;
  readonly bundle: GuestBundle;
  readonly isStandardImage: boolean;
  /** Whether the sandbox is to outlive this server. */
  readonly isPersistent: boolean;
  readonly signal: AbortSignal;
  /** Callback that runs before any program of the user can run in the container. */
  readonly onStarted?: (containerId: string) => void;
}

const ENGINE_MS = 30_000;

/**
 * Creates, attaches and starts a container, with no extra requests for the standard image. On rejection, the caller
 * removes the container by its name.
 */
export async function startContainer(connector: EngineConnector, options: StartOptions): Promise<StartedContainer> {
  const { image, config, bundle, signal } = options;
  return connector.ask(
    'start a container',
    async (engine) => {
      const container = await create(engine, options);
      if (!options.isStandardImage) await requireNoMoreMounts(container, options);
      signal.throwIfAborted();
      // Attach before start, otherwise the first bytes of either side could be lost.
      const socket = await container.attach({
        ...{ stream: true, hijack: true, stdin: true, stdout: true, stderr: true },
        abortSignal: signal,
      } as never);
      const attached = attachedChannel(socket as Duplex);
      attached.channel.on('error', () => {});
      try {
        const ready = takeFirstLine(attached.channel, parseReadyLine).catch((thrown: Error) => {
          throw imageBroken(options.driver, image, attached.stderrTail() || thrown.message);
        });
        ready.catch(() => {});
        attached.channel.write(bundle.bytes);
        await start(container, options);
        options.onStarted?.(container.id);
        const line = await unlessAborted(ready, signal);
        if (options.isPersistent) {
          attached.channel.destroy();
          const way = { driver: options.driver, container, python: config.Cmd?.[0] ?? 'python3' };
          return { ...(await joinContainer(connector, way, signal)), ready: line };
        }
        return {
          channel: attached.channel,
          ready: line,
          howItEnded: async () => (attached.endedRemotely() ? howItEnded(container, attached.stderrTail()) : undefined),
        };
      } catch (error) {
        attached.channel.destroy();
        throw error;
      }
    },
    { signal },
  );
}

async function create({ docker }: Engine, options: StartOptions): Promise<Container> {
  try {
    // The caller's abort does not cancel this request: the engine would still create the container, after the cleanup
    // had looked for it.
    const abortSignal = AbortSignal.timeout(ENGINE_MS);
    // dockerode would otherwise put the whole configuration into the URL as well.
    const request = { _query: { name: options.name }, _body: options.config, abortSignal };
    return await docker.createContainer(request as never);
  } catch (error) {
    if (statusOf(error) === 404 && /no such image/i.test(reasonOf(error))) {
      throw imageMissing(options.driver, options.image, options.isStandardImage);
    }
    throw error;
  }
}

/**
 * SECURITY: volumes that an image declares must not add folders on the host's disk, which have no size limit. A covered
 * volume may be spelt in a way that only the engine resolves.
 */
async function requireNoMoreMounts(
  container: Container,
  { driver, image, config, signal }: StartOptions,
): Promise<void> {
  const asked = new Set((config.HostConfig?.Mounts ?? []).map(({ Target: target }) => target));
  const { Mounts: mounts } = await container.inspect({ abortSignal: signal } as object);
  const more = mounts.filter(({ Destination: place, Type: kind }) => kind !== 'tmpfs' && !asked.has(place));
  if (more.length > 0) throw volumesNotCovered(driver, image, more);
}

async function start(container: Container, options: StartOptions): Promise<void> {
  try {
    await container.start({ abortSignal: AbortSignal.timeout(ENGINE_MS) });
  } catch (error) {
    const reason = reasonOf(error);
    if (/failed to mount local volume/i.test(reason)) throw mountRefused(options.driver, error);
    const cannotRun = /executable file not found|no such file or directory|permission denied|exec format error/i;
    if (statusOf(error) !== undefined && /exec|starting container process/i.test(reason) && cannotRun.test(reason)) {
      throw imageBroken(options.driver, options.image, reason, error);
    }
    throw error;
  }
}

/** Connects to a container that outlives its servers, created by this server or another. */
export async function joinContainer(
  connector: EngineConnector,
  way: RelayWay,
  signal: AbortSignal,
): Promise<Omit<StartedContainer, 'ready'> & Required<Pick<StartedContainer, 'reconnect'>>> {
  const reconnect: ReconnectContainer = (options = {}) =>
    connector.ask('connect to a container', () => openRelay(way, options.signal ?? AbortSignal.timeout(ENGINE_MS)));
  return {
    channel: await reconnect({ signal }),
    reconnect,
    // The end of a channel does not show whether the container ended; only its state does.
    howItEnded: async () => ((await isRunning(way.container)) ? undefined : howItEnded(way.container, '')),
  };
}
