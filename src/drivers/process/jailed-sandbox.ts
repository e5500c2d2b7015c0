import { deferred } from '../../lib/deferred.ts';
import type { Sandbox, SandboxEnd, Usage } from '../../sandbox/driver.ts';
import type { GuestConfig } from '../../sandbox/guest-config.ts';
import type { LayersFolder } from '../../sandbox/layers.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';
import type { Cgroup } from './cgroup.ts';
import { processDeclaration } from './declaration.ts';
import { enforcement } from './enforcement.ts';
import type { ProcessShape } from './shape.ts';

export interface JailedSandboxParts {
  readonly spec: SandboxSpec;
  readonly shape: ProcessShape;
  readonly guestConfig: GuestConfig;
  readonly channel: Sandbox['channel'];
  readonly cgroup: Cgroup | undefined;
  readonly cgroupVersion: 'v1' | 'v2' | undefined;
  readonly layers: LayersFolder;
  /** Removes the folder of layers. */
  removeLayers(): Promise<void>;
  /** Kills pid 1 of the sandbox, and with it all others. */
  kill(): void;
  /** Resolves when pid 1 has ended. */
  gone(): Promise<void>;
}

/** A running sandbox. It ends when its channel closes, and leaves no process, cgroup or folder. */
export function jailedSandbox(parts: JailedSandboxParts): Sandbox {
  const { spec, shape, guestConfig, channel, cgroup, cgroupVersion, layers } = parts;
  const ended = deferred<SandboxEnd>();
  let disposal: Promise<void> | undefined;
  const dispose = () => {
    disposal ??= (async () => {
      parts.kill();
      channel.destroy();
      await parts.gone();
      await cgroup?.remove();
      await parts.removeLayers();
      ended.resolve({ kind: 'disposed' });
    })();
    return disposal;
  };
  channel.once('close', () => {
    const killed = (cgroup?.memoryKills() ?? 0) > 0;
    if (disposal === undefined) {
      ended.resolve(killed ? { kind: 'out-of-memory' } : { kind: 'exited', detail: 'its processes ended' });
    }
    dispose().catch(() => {});
  });
  return {
    id: spec.id,
    isolation: {
      driver: 'process',
      level: processDeclaration.levels[0],
      shape,
      limits: enforcement(cgroupVersion, spec),
    },
    channel,
    guestConfig,
    layers,
    ended: ended.promise,
    usage: async () => usageOf(cgroup),
    dispose,
  };
}

function usageOf(cgroup: Cgroup | undefined): Usage {
  if (cgroup === undefined) return {};
  const memoryBytes = cgroup.memoryBytes();
  return { memoryKills: cgroup.memoryKills(), ...(memoryBytes === undefined ? {} : { memoryBytes }) };
}
