import { setTimeout as sleep } from 'node:timers/promises';
import type { Container } from 'dockerode';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { aborted } from '../../lib/abort.ts';
import type { CreateOptions, Driver, Probe, Sandbox, SandboxEnd, Survivor } from '../../sandbox/driver.ts';
import { type GuestConfig, standardEnvironment } from '../../sandbox/guest-config.ts';
import type { Host } from '../../sandbox/host.ts';
import { type DriverName, ISOLATION_LEVELS } from '../../sandbox/isolation.ts';
import { seccompFilter } from '../../sandbox/seccomp.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';
import { type ContainerRuntime, containerConfig, containerName, LABELS } from './container-config.ts';
import { joinContainer, type StartedContainer, startContainer } from './container-sandbox.ts';
import { containerEnforcement } from './enforcement.ts';
import { createEngineConnector, type EngineConnector } from './engine.ts';
import { engineError, imageMissing, statusOf } from './engine-errors.ts';
import { guestBundle } from './guest-bundle.ts';
import { standardImageTag } from './image.ts';
import { probeContainers } from './probe.ts';
import type { ReadyLine } from './ready-line.ts';
import { createRemoval } from './removal.ts';

export interface ContainerDriverOptions {
  readonly name: Extract<DriverName, 'docker' | 'gvisor'>;
  readonly runtime: ContainerRuntime;
  /** Where the engine is; found by itself when absent. */
  readonly engine?: EngineConnector;
  /** The image of a sandbox that names none. */
  readonly standardImage?: string;
}

const START_MS = 30_000;
const CLEANING_MS = 3_000;
const IMAGE_NAME = /^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}$/;

/** Sandboxes as containers of an engine: `docker`, and `gvisor` with a runtime that brings its own kernel. */
export function createContainerDriver(host: Host, options: ContainerDriverOptions): Driver {
  const { name, runtime } = options;
  const engine = options.engine ?? createEngineConnector(name);
  const standardImage = () => options.standardImage ?? standardImageTag();
  const removal = createRemoval(engine);
  const sandboxes = new Set<Sandbox>();
  const cleaning = new Set<Promise<void>>();
  let probed: Promise<Probe> | undefined;

  async function create(spec: SandboxSpec, { signal }: CreateOptions = {}): Promise<Sandbox> {
    const combined = signal ?? AbortSignal.timeout(START_MS);
    const image = checkedImage(spec.image ?? standardImage());
    const { kernel } = await engine.connect({ signal: combined });
    const container = containerName(spec.id);
    const starting = begin(spec, image, combined);
    try {
      const started = await Promise.race([starting, aborted(combined)]);
      requireOwnKernel(started.ready, kernel);
      void inBackground(removal.retry());
      return track(spec, container, started, guestConfig(spec, started.ready));
    } catch (error) {
      await inBackground(cleanUp(container, starting));
      throw engineError(name, engine.address.shown, 'start a container', error);
    }
  }

  async function begin(spec: SandboxSpec, image: string, signal: AbortSignal): Promise<StartedContainer> {
    const bundle = guestBundle();
    const isStandardImage = image === standardImage();
    const config = containerConfig(spec, {
      image,
      command: bundle.command,
      runtime,
      installationId: host.installationId,
      serverId: host.serverId,
      // Our own image declares none, and is started too often to be asked.
      imageVolumes: isStandardImage ? [] : await imageVolumes(image, signal),
    });
    return startContainer(engine, {
      driver: name,
      name: containerName(spec.id),
      config,
      bundle,
      isStandardImage,
      isPersistent: spec.persistent !== undefined,
      signal,
    });
  }

  async function imageVolumes(image: string, signal: AbortSignal): Promise<string[]> {
    return engine.ask('look at an image', async ({ docker }) => {
      try {
        const { Config: config } = await docker.getImage(image).inspect({ abortSignal: signal } as object);
        return Object.keys(config?.Volumes ?? {});
      } catch (error) {
        if (statusOf(error) === 404) throw imageMissing(name, image, false);
        throw error;
      }
    });
  }

  /** All or nothing. What the engine was asked for it may still be making, so its answer comes first. */
  async function cleanUp(container: string, starting: Promise<StartedContainer>): Promise<void> {
    await starting.then(
      ({ channel }) => channel.destroy(),
      () => {},
    );
    await removal.remove(container);
  }

  /** Waited for, but not for long: an engine that hangs must not hold its caller. `close` waits for all of it. */
  async function inBackground(work: Promise<void>): Promise<void> {
    const done = work.finally(() => cleaning.delete(done));
    cleaning.add(done);
    await Promise.race([done, sleep(CLEANING_MS, undefined, { ref: false })]);
  }

  /** SECURITY: an engine may know a runtime by that name which is another; only what the inside sees proves it. */
  function requireOwnKernel(ready: ReadyLine, hostKernel: string): void {
    if (runtime.ownKernel === undefined || ready.kernel !== hostKernel) return;
    throw new HotcellError(
      'driver_unavailable',
      `${name}: containers of the runtime ${runtime.name} see the host's own kernel`,
      {
        remedy: `Run \`hotcell setup ${name}\`.`,
      },
    );
  }

  async function adopt(spec: SandboxSpec, { signal = AbortSignal.timeout(START_MS) } = {}): Promise<Sandbox> {
    const container = containerName(spec.id);
    return engine.ask('take over a container', async ({ docker }) => {
      await requireOurs(docker.getContainer(container), signal);
      return track(spec, container, await joinContainer(engine, name, docker.getContainer(container), signal));
    });
  }

  /** SECURITY: a record may be older than the engine it speaks of; whatever answers by that name now must be what was made then. */
  async function requireOurs(container: Container, signal: AbortSignal): Promise<void> {
    const found = await container.inspect({ abortSignal: signal } as object).catch((error: unknown) => {
      if (statusOf(error) === 404) return undefined;
      throw error;
    });
    const labels = found?.Config.Labels ?? {};
    const isOurs =
      labels[LABELS.installation] === host.installationId &&
      labels[LABELS.persistent] !== undefined &&
      (runtime.name === undefined || found?.HostConfig.Runtime === runtime.name);
    if (isOurs && found?.State.Running === true) return;
    if (isOurs) await removal.remove(container.id);
    throw new HotcellError('sandbox_lost', `${name}: the container no longer runs`, {
      remedy: 'Open a new session; variables and files of this one are gone.',
    });
  }

  /** `config` is absent for one whose guest was configured by another server. */
  function track(
    spec: SandboxSpec,
    container: string,
    { channel, howItEnded, reconnect }: Omit<StartedContainer, 'ready'>,
    config?: GuestConfig,
  ): Sandbox {
    let settle!: (end: SandboxEnd) => void;
    const ended = new Promise<SandboxEnd>((resolve) => {
      settle = resolve;
    });
    let disposal: Promise<void> | undefined;
    const dispose = () => {
      disposal ??= (async () => {
        const end = await howItEnded();
        settle(end ?? { kind: 'disposed' });
        channel.destroy();
        await removal.remove(container);
        sandboxes.delete(sandbox);
      })();
      return disposal;
    };
    if (reconnect === undefined) channel.once('close', () => void dispose().catch(() => {}));
    const leave = async () => {
      channel.destroy();
      sandboxes.delete(sandbox);
    };
    const sandbox: Sandbox = {
      id: spec.id,
      isolation: isolation(spec),
      channel,
      ...(config === undefined ? {} : { guestConfig: config }),
      ...(reconnect === undefined ? {} : { reconnect, leave }),
      ended,
      // The engine's own numbers cost a call each, and this is asked around every execution: the guest counts kills itself.
      usage: async () => ({}),
      dispose,
    };
    sandboxes.add(sandbox);
    return sandbox;
  }

  function isolation(spec: SandboxSpec): Sandbox['isolation'] {
    return {
      driver: name,
      level: ISOLATION_LEVELS[name],
      shape: 'sealed',
      limits: containerEnforcement(runtime, spec),
    };
  }

  function guestConfig(spec: SandboxSpec, { path, architecture }: ReadyLine): GuestConfig {
    const { memoryBytes, openFiles, fileBytes, cpus, processes } = spec.limits;
    return {
      limits: {
        ...{ memoryBytes, openFiles, fileBytes, cpus },
        ...(runtime.ownKernel === undefined ? {} : { processes, memoryWatchdogBytes: Math.floor(memoryBytes * 0.9) }),
      },
      preloads: spec.preloads,
      environment: standardEnvironment({ path, cpus, extra: spec.environment }),
      ...(spec.persistent === undefined ? {} : { alone: spec.persistent }),
      // The engine's own filter allows ptrace and, in many versions, io_uring.
      ...(architecture === undefined ? {} : { seccomp: seccompFilter(architecture).toString('base64') }),
    };
  }

  async function survivors(): Promise<Survivor[]> {
    const listed = await engine.ask('list containers', ({ docker }) =>
      docker.listContainers({ all: true, filters: { label: [`${LABELS.installation}=${host.installationId}`] } }),
    );
    const found: Survivor[] = [];
    for (const { Id: id, Labels: labels } of listed) {
      const serverId = labels[LABELS.server] ?? '';
      const sandboxId = labels[LABELS.sandbox] ?? id;
      if (serverId === host.serverId || (await host.isServerAlive(serverId)) || (await host.isKept(sandboxId)))
        continue;
      found.push({ id: sandboxId, serverId, dispose: () => removal.remove(id) });
    }
    return found;
  }

  return {
    name,
    create,
    adopt,
    survivors,
    probe: (probeOptions = {}) => {
      const probing = probed ?? probeContainers({ name, runtime, engine, standardImage, create }, probeOptions);
      probed = probing;
      // What was missing may be there next time; what worked is not tried twice.
      void probing.then((probe) => {
        if (!probe.available && probed === probing) probed = undefined;
      });
      return probing;
    },
    close: async () => {
      await Promise.all([...sandboxes].map((sandbox) => sandbox.dispose()));
      await Promise.all(cleaning);
      await removal.settled();
      engine.close();
    },
  };
}

/** SECURITY: the name goes into the engine's API, where it can be nothing but the name of an image. */
function checkedImage(image: string): string {
  if (IMAGE_NAME.test(image)) return image;
  throw new HotcellError('invalid_argument', `${JSON.stringify(image.slice(0, 100))} is not the name of an image`, {
    remedy: 'Give one like python:3.12 or registry.example/team/image@sha256:….',
  });
}
