import type { Host } from '../../sandbox/host.ts';
import type { DriverName } from '../../sandbox/isolation.ts';
import { NODE_MODULES } from '../../sandbox/layers.ts';
import { type SandboxSpec, socketBytesOf } from '../../sandbox/spec.ts';
import type { GuestBundle } from '../pipe-guest/guest-bundle.ts';
import { installedBundle } from '../pipe-guest/guest-code.ts';
import { type ContainerRuntime, containerConfig, containerName, memoryPlaces } from './container-config.ts';
import type { ContainerUser } from './container-user.ts';
import type { EngineConnector } from './engine.ts';
import { followsDescriptors } from './engine-address.ts';
import { noPython } from './engine-errors.ts';
import { describeImage, type ImageDescription } from './engine-image.ts';
import { createFailedStarts } from './failed-starts.ts';
import { createImageLooks } from './image-looks.ts';
import { reviewImage } from './image-review.ts';
import { isTaken } from './image-targets.ts';
import { openMountDescriptors } from './mount-descriptors.ts';
import { limitSocketMemory } from './socket-memory.ts';
import { type StartedContainer, startContainer } from './started-container.ts';

/** Starts containers of one driver. Called by `container-driver.ts`, which cleans up after a failed start. */
export interface ContainerStarts {
  begin(
    spec: SandboxSpec,
    as: { readonly image: string; readonly user: ContainerUser; readonly layers: string | undefined },
    signal: AbortSignal,
  ): Promise<StartedContainer>;
}

export interface StartsOptions {
  readonly name: DriverName;
  readonly runtime: ContainerRuntime;
  readonly engine: EngineConnector;
  readonly standardImage: () => string;
  /** Removes a container that was only created to look at its image. */
  readonly remove: (container: string) => Promise<void>;
}

export function createContainerStarts(host: Host, options: StartsOptions): ContainerStarts {
  const { name, runtime, engine, standardImage, remove } = options;
  const looks = createImageLooks({ engine, ...host, remove });
  const failedStarts = createFailedStarts();
  let bundle: GuestBundle | undefined;

  /**
   * The image and the command that the guest starts with. The standard image is not reviewed: it is trusted, and
   * started often.
   */
  async function inside(
    spec: SandboxSpec,
    image: string,
    signal: AbortSignal,
  ): Promise<{ described?: ImageDescription; hasNodeModules?: boolean; bundle: GuestBundle }> {
    bundle ??= installedBundle(host.dataDir);
    if (image === standardImage()) return { bundle };
    const described = await describeImage(image, { driver: name, engine, isStandard: false, signal });
    failedStarts.refuse(spec, described.id);
    const { python, hasNodeModules } = await looks.look(described, signal, async (files) => {
      const hasNodeModules = await isTaken(files, NODE_MODULES, described.volumes);
      const places = { memory: memoryPlaces(spec, { described, hasNodeModules }), mounts: spec.mounts };
      return { python: await reviewImage(described, files, places), hasNodeModules };
    });
    if (python === undefined) throw noPython(name, image);
    return { described, hasNodeModules, bundle: { ...bundle, command: [python.program, ...bundle.command.slice(1)] } };
  }

  return {
    begin: async (spec, { image, user, layers }, signal) => {
      const { described, hasNodeModules, bundle } = await inside(spec, image, signal);
      // SECURITY: under gVisor the guest cannot tell one host folder from another, and a hostile image does not compare
      // them. So the mounts are bound by descriptor, which no exchange of folders can change.
      const byDescriptor =
        runtime.ownKernel !== undefined || (described !== undefined && followsDescriptors(engine.address));
      const { devices, close } = await openMountDescriptors(byDescriptor ? spec.mounts : [], host.runDir);
      try {
        const config = containerConfig(spec, {
          image: described?.id ?? image,
          command: bundle.command,
          runtime,
          user,
          installationId: host.installationId,
          serverId: host.serverId,
          devices,
          described,
          layers,
          ...(hasNodeModules === undefined ? {} : { hasNodeModules }),
        });
        return await startContainer(engine, {
          driver: name,
          name: containerName(spec.id),
          image,
          config,
          bundle,
          isStandardImage: described === undefined,
          isPersistent: spec.persistent !== undefined,
          signal,
          // A runtime with its own kernel keeps sockets in that kernel's memory.
          ...(runtime.ownKernel === undefined
            ? { onStarted: (id: string) => limitSocketMemory(id, socketBytesOf(spec.limits)) }
            : {}),
        });
      } catch (error) {
        failedStarts.note(spec, described?.id, error);
        throw error;
      } finally {
        await close();
      }
    },
  };
}
