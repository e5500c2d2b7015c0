import type { Duplex } from 'node:stream';
import type { Container, ContainerCreateOptions } from 'dockerode';
import { aborted } from '../../lib/abort.ts';
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

/** A container that runs, with a guest that listens. */
export interface StartedContainer {
  readonly channel: Duplex;
  readonly ready: ReadyLine;
  /** Why its channel closed; nothing where it was closed from here. To be asked before the container is removed. Never rejects. */
  howItEnded(): Promise<SandboxEnd | undefined>;
  /** Another channel to the same guest. */
  readonly reconnect?: ReconnectContainer;
}

export type ReconnectContainer = (options?: { signal?: AbortSignal }) => Promise<Duplex>;

export interface StartOptions {
  readonly driver: DriverName;
  readonly name: string;
  /** The image as its caller named it. */
  readonly image: string;
  readonly config: ContainerCreateOptions;
  readonly bundle: GuestBundle;
  readonly isStandardImage: boolean;
  /** It is to outlive this server. */
  readonly isPersistent: boolean;
  readonly signal: AbortSignal;
  /** Before anything of the user's can run in it. */
  readonly onStarted?: (containerId: string) => void;
}

const ENGINE_MS = 30_000;

/** Creates, attaches, starts: no call more for the standard image. What it leaves when it rejects is the caller's to remove, by the container's name. */
export async function startContainer(connector: EngineConnector, options: StartOptions): Promise<StartedContainer> {
  const { image, config, bundle, signal } = options;
  return connector.ask(
    'start a container',
    async (engine) => {
      const container = await create(engine, options);
      if (!options.isStandardImage) await requireNoMoreMounts(container, options);
      signal.throwIfAborted();
      // Before the start, or the first bytes of either side could be lost.
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
        const line = await Promise.race([ready, aborted(signal)]);
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
    // Not withdrawn when the caller is: the engine would make the container all the same, after it was looked for to be removed.
    const abortSignal = AbortSignal.timeout(ENGINE_MS);
    // dockerode would put the whole configuration into the address as well.
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
 * SECURITY: what an image declares must add no folder of the host's disk, which has no limit. A volume that was covered may be spelt in a way that only the
 * engine knows.
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

/** The way into a container that outlives its servers, made by this one or another. */
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
    // The end of a channel says nothing: only the container itself does.
    howItEnded: async () => ((await isRunning(way.container)) ? undefined : howItEnded(way.container, '')),
  };
}
