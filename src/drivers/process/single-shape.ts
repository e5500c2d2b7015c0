import { singleJailArguments } from './bwrap-arguments.ts';
import { type JailGround, requireBwrap } from './jail-ground.ts';
import { jailIdentity } from './jail-identity.ts';
import { startJail } from './jail-process.ts';
import { jailedSandbox } from './jailed-sandbox.ts';
import { sessionJail } from './session-jail.ts';
import type { SandboxShape } from './shape.ts';

/** A jail for each sandbox: for hosts that refuse nested namespaces. */
export function createSingleShape(ground: JailGround): SandboxShape {
  const { cgroups } = ground;
  return {
    create: async (spec, { signal }) => {
      const layout = await ground.layout(spec);
      const guestConfig = await ground.guestConfig(spec, 'single');
      signal?.throwIfAborted();
      const cgroup = cgroups.create();
      cgroup?.limit(spec.limits);
      const uids = ground.uidsFor(spec);
      try {
        const jailArguments = singleJailArguments(layout, sessionJail(spec));
        const jail = await startJail(requireBwrap(), jailArguments, jailIdentity(uids), {
          filter: ground.filters.sandbox,
          place: cgroup?.add,
        });
        void jail.ended.then(uids?.release);
        return jailedSandbox({
          ...{ spec, shape: 'single', guestConfig, channel: jail.socket, cgroup },
          cgroupVersion: cgroups.version(),
          kill: jail.kill,
          gone: async () => {
            await jail.ended;
          },
        });
      } catch (error) {
        uids?.release();
        await cgroup?.remove();
        throw error;
      }
    },
  };
}
