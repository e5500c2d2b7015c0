import { setTimeout as sleep } from 'node:timers/promises';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { unlessAborted } from '../../lib/abort.ts';
import type { DriverDeclaration } from '../../sandbox/declaration.ts';
import type { CreateOptions, Driver, Probe, Sandbox, Survivor } from '../../sandbox/driver.ts';
import type { Host } from '../../sandbox/host.ts';
import type { DriverName } from '../../sandbox/isolation.ts';
import type { LayersFolder } from '../../sandbox/layers.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';
import { createLayerFolders } from '../layer-folders.ts';
import { pipedGuestConfig } from '../pipe-guest/guest-config.ts';
import type { ReadyLine } from '../pipe-guest/ready-line.ts';
import { type ContainerRuntime, containerName, LABELS } from './container-config.ts';
import { makeNodeModules } from './container-layers.ts';
import { type ContainerSandboxParts, containerSandbox } from './container-sandbox.ts';
import { createContainerStarts } from './container-starts.ts';
import {
  areOpenToAll,
  COMMON_USER,
  type ContainerUser,
  createContainerUsers,
  folderUser,
  kindOfUser,
} from './container-user.ts';
import { containerEnforcement } from './enforcement.ts';
import { createEngineConnector, type EngineConnector } from './engine.ts';
import { engineError, isAbout } from './engine-errors.ts';
import { checkedImage, inspectImage } from './engine-image.ts';
import { standardImageTag } from './image.ts';
import { containerLost, ownContainer } from './own-container.ts';
import { probeContainers } from './probe.ts';
import { createRemoval } from './removal.ts';
import { joinContainer, type StartedContainer } from './started-container.ts';

export interface ContainerDriverOptions extends DriverDeclaration {
  readonly name: Extract<DriverName, 'docker' | 'gvisor'>;
  readonly runtime: ContainerRuntime;
  /** The connector to the engine; when absent, one for the engine found on this machine. */
  readonly engine?: EngineConnector;
  /** The image for a sandbox whose spec has none. */
  readonly standardImage?: string;
  /** The user that Hotcell runs as; by default that of this process. */
  readonly self?: ContainerUser;
}

const START_MS = 30_000;
const CLEANING_MS = 3_000;

/**
 * A driver whose sandboxes are containers of an engine: `docker`, and `gvisor` with a runtime that has its own kernel.
 */
export function createContainerDriver(host: Host, options: ContainerDriverOptions): Driver {
  const { name, runtime } = options;
  const engine = options.engine ?? createEngineConnector(name);
  const standardImage = () => options.standardImage ?? standardImageTag();
  const removal = createRemoval(engine);
  const starts = createContainerStarts(host, {
    ...{ name, runtime, engine, standardImage },
    remove: (container) => inBackground(removal.remove(container)),
  });
  const users = createContainerUsers(host.serverId);
  const { platform } = process;
  const ofFolders = folderUser({ platform, self: options.self ?? self(), socketPath: engine.address.socketPath });
  const sandboxes = new Set<Sandbox>();
  const cleaning = new Set<Promise<void>>();
  const folders = createLayerFolders(host);
  /** Whether the engine binds folders of this machine, as far as known: a remote one does not. */
  let bindsFolders = engine.address.socketPath !== undefined;
  let probed: Promise<Probe> | undefined;

  async function create(spec: SandboxSpec, { signal }: CreateOptions = {}): Promise<Sandbox> {
    const combined = signal ?? AbortSignal.timeout(START_MS);
    const image = checkedImage(spec.image ?? standardImage());
    const { kernel } = await engine.connect({ signal: combined });
    const container = containerName(spec.id);
    const user = await userOf(spec, image);
    const layers = bindsFolders ? makeLayers(spec) : undefined;
    const starting = starts.begin(spec, { image, user, layers: layers?.folder }, combined);
    try {
      const started = await unlessAborted(starting, combined);
      requireOwnKernel(started.ready, kernel);
      void inBackground(removal.retry());
      const guestConfig = pipedGuestConfig(spec, { ownKernel: runtime.ownKernel !== undefined }, started.ready);
      return tracked(spec, { uid: user.uid, started, guestConfig, layers });
    } catch (error) {
      await inBackground(
        cleanUp(container, starting).finally(async () => {
          users.release(user.uid);
          if (layers !== undefined) await folders.remove(layers.folder);
        }),
      );
      if (layers === undefined || !isAbout(error, layers.folder)) {
        throw engineError(name, engine.address.shown, 'start a container', error);
      }
      // It is in a virtual machine or another container, and has no such folder.
      bindsFolders = false;
      return create(spec, { signal: combined });
    }
  }

  function makeLayers({ id, persistent }: SandboxSpec): LayersFolder {
    const layers = folders.make(id, { isKept: persistent !== undefined });
    makeNodeModules(layers.folder);
    return layers;
  }

  async function userOf(spec: SandboxSpec, image: string): Promise<ContainerUser> {
    const isStandardImage = options.standardImage === undefined && image === standardImage();
    const kind = kindOfUser(spec, runtime, { isStandardImage, foldersAreOpen: await areOpenToAll(spec.mounts) });
    if (kind === 'own') return users.take();
    return kind === 'folders' ? ofFolders : COMMON_USER;
  }

  /**
   * Removes all traces of a failed start. The engine may still be creating the container, so this waits for its answer
   * first.
   */
  async function cleanUp(container: string, starting: Promise<StartedContainer>): Promise<void> {
    await starting.then(
      ({ channel }) => channel.destroy(),
      () => {},
    );
    await removal.remove(container);
  }

  /**
   * Waits for background work at most `CLEANING_MS`, so that a hanging engine does not block the caller. `close` waits
   * for all of it.
   */
  async function inBackground(work: Promise<void>): Promise<void> {
    const done = work.finally(() => cleaning.delete(done));
    cleaning.add(done);
    await Promise.race([done, sleep(CLEANING_MS, undefined, { ref: false })]);
  }

  /**
   * SECURITY: an engine may have another runtime registered under this name; only the kernel release seen inside proves
   * which one runs.
   */
  function requireOwnKernel(ready: ReadyLine, hostKernel: string): void {
    if (runtime.ownKernel === undefined || ready.kernel !== hostKernel) return;
    throw new HotcellError(
      'driver_unavailable',
      `${name}: containers of the runtime ${runtime.name} share the host's kernel`,
      {
        remedy: `Run \`hotcell setup ${name}\`.`,
      },
    );
  }

  async function adopt(spec: SandboxSpec, { signal = AbortSignal.timeout(START_MS) } = {}): Promise<Sandbox> {
    return engine.ask('take over a container', async ({ docker }) => {
      const container = docker.getContainer(containerName(spec.id));
      const found = await ownContainer(
        container,
        { owner: spec.owner, installationId: host.installationId, runtime },
        signal,
      );
      if (!found.isRunning) {
        if (found.isOurs) await removeKept(spec.id, container.id);
        throw containerLost(name);
      }
      const { uid, python } = found;
      const started = await joinContainer(engine, { driver: name, container, python }, signal).catch(
        async (error: unknown) => {
          if (error instanceof HotcellError && error.code === 'sandbox_lost') await removeKept(spec.id, container.id);
          throw error;
        },
      );
      users.hold(uid);
      return tracked(spec, { uid, started, layers: folders.kept(spec.id) });
    });
  }

  async function removeKept(sandboxId: string, container: string): Promise<void> {
    await removal.remove(container);
    const layers = folders.kept(sandboxId);
    if (layers !== undefined) await folders.remove(layers.folder);
  }

  async function discard(spec: SandboxSpec, { signal = AbortSignal.timeout(START_MS) } = {}): Promise<void> {
    await engine.ask('remove a container', async ({ docker }) => {
      const container = docker.getContainer(containerName(spec.id));
      const proof = { owner: spec.owner, installationId: host.installationId, runtime };
      if ((await ownContainer(container, proof, signal)).isOurs) await removeKept(spec.id, containerName(spec.id));
    });
  }

  function tracked(
    spec: SandboxSpec,
    { uid, layers, ...parts }: Pick<ContainerSandboxParts, 'started' | 'guestConfig' | 'layers'> & { uid: number },
  ): Sandbox {
    const sandbox = containerSandbox({
      id: spec.id,
      isolation: {
        driver: name,
        level: options.levels[0],
        shape: 'sealed',
        limits: containerEnforcement(runtime, spec),
      },
      ...parts,
      layers,
      remove: async () => {
        await removal.remove(containerName(spec.id));
        if (layers !== undefined) await folders.remove(layers.folder);
      },
      onReleased: (released) => {
        if (sandboxes.delete(released)) users.release(uid);
      },
    });
    sandboxes.add(sandbox);
    return sandbox;
  }

  async function survivors(): Promise<Survivor[]> {
    const listed = await engine.ask('list containers', ({ docker }) =>
      docker.listContainers({ all: true, filters: { label: [`${LABELS.installation}=${host.installationId}`] } }),
    );
    const found: Survivor[] = [];
    for (const { Id: id, Names: names, Labels: labels } of listed) {
      const serverId = labels[LABELS.server] ?? '';
      const sandboxId = labels[LABELS.sandbox] ?? '';
      // SECURITY: images made by `docker commit` pass the labels on to containers that are not ours. Only ours have
      // this name.
      if (!names.includes(`/${containerName(sandboxId)}`)) continue;
      if (serverId === host.serverId || (await host.isServerAlive(serverId)) || (await host.isKept(sandboxId)))
        continue;
      found.push({ id: sandboxId, serverId, dispose: () => removal.remove(id) });
    }
    return found;
  }

  return {
    name,
    traits: options.traits,
    create,
    identify: async (image = standardImage(), { signal } = {}) => {
      const isStandard = image === standardImage();
      const { Id: id } = await inspectImage(checkedImage(image), { driver: name, engine, isStandard, signal });
      return `image ${id}`;
    },
    adopt,
    discard,
    survivors,
    probe: (probeOptions = {}) => {
      const probing =
        probed ??
        probeContainers(
          { name, runtime, engine, standardImage, create, folderUid: ofFolders.uid, bindsFolders: () => bindsFolders },
          probeOptions,
        );
      probed = probing;
      // A failed probe is repeated next time; a successful one is cached.
      void probing.then((probe) => {
        if (!probe.available && probed === probing) probed = undefined;
      });
      return probing;
    },
    settled: folders.settled,
    close: async () => {
      await Promise.all([...sandboxes].map((sandbox) => sandbox.dispose()));
      await Promise.all(cleaning);
      await removal.settled();
      await folders.settled();
      engine.close();
    },
  };
}

function self(): ContainerUser | undefined {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}
