import { setTimeout as sleep } from 'node:timers/promises';
import type { HotcellError } from '../../errors/hotcell-error.ts';
import type { GuestConfig } from '../../sandbox/guest-config.ts';
import type { Mount } from '../../sandbox/spec.ts';
import { singleJailArguments } from './bwrap-arguments.ts';
import type { Cgroup } from './cgroup.ts';
import { type JailGround, requireBwrap } from './jail-ground.ts';
import { jailIdentity } from './jail-identity.ts';
import { type JailProcess, jailFailure, startJail } from './jail-process.ts';
import { jailedSandbox } from './jailed-sandbox.ts';
import { sessionJail } from './session-jail.ts';
import type { UidBlock } from './session-uids.ts';
import type { SandboxShape } from './shape.ts';
import { requireDirectPlaces } from './single-places.ts';

const LAST_WORDS_MS = 1_000;

/** A jail for each sandbox, for hosts that refuse nested namespaces. */
export function createSingleShape(ground: JailGround): SandboxShape {
  const { cgroups } = ground;
  return {
    create: async (spec, { signal }) => {
      requireDirectPlaces(spec.mounts);
      const layout = await ground.layout(spec);
      signal?.throwIfAborted();
      const layers = ground.layers.make(spec.id);
      const removeLayers = () => ground.layers.remove(layers.folder);
      let cgroup: Cgroup | undefined;
      let uids: UidBlock | undefined;
      try {
        cgroup = cgroups.create();
        cgroup?.limit(spec.limits);
        uids = ground.uidsFor(spec);
        const jailArguments = singleJailArguments(layout, { ...sessionJail(spec), layersFolder: layers.folder });
        const starting = startJail(requireBwrap(), jailArguments, jailIdentity(uids), {
          filter: ground.filters.single,
          place: cgroup?.add,
        });
        const [jail, guestConfig] = await both(starting, ground.guestConfig(spec, 'single'));
        void jail.ended.then(uids?.release);
        const sandbox = jailedSandbox({
          ...{ spec, shape: 'single', guestConfig, channel: jail.socket, cgroup },
          ...{ cgroupVersion: cgroups.version(), layers, removeLayers },
          kill: jail.kill,
          gone: async () => {
            await jail.ended;
          },
        });
        // bubblewrap reports the jailed pid before its mounts are made, so it can fail after this function has
        // returned.
        return { ...sandbox, startFailure: async () => bwrapFailure(await withinMoment(jail.ended), spec.mounts) };
      } catch (error) {
        uids?.release();
        await cgroup?.remove();
        await removeLayers();
        throw error;
      }
    },
  };
}

/** The jail is killed if its guest cannot be configured. */
async function both(starting: Promise<JailProcess>, config: Promise<GuestConfig>): Promise<[JailProcess, GuestConfig]> {
  try {
    return await Promise.all([starting, config]);
  } catch (error) {
    await starting.then((jail) => jail.kill()).catch(() => {});
    throw error;
  }
}

function bwrapFailure(said: string | undefined, mounts: readonly Mount[]): HotcellError | undefined {
  return said?.startsWith('bwrap: ') ? jailFailure(`the jail did not start: ${said}`, mounts) : undefined;
}

function withinMoment<T>(work: Promise<T>): Promise<T | undefined> {
  return Promise.race([work, sleep(LAST_WORDS_MS, undefined, { ref: false })]);
}
