import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Architecture, seccompFilter } from '../../sandbox/seccomp.ts';
import { singleJailArguments } from './bwrap-arguments.ts';
import { type JailGround, requireBwrap } from './jail-ground.ts';
import { jailIdentity } from './jail-identity.ts';
import { startJail } from './jail-process.ts';
import { jailedSandbox } from './jailed-sandbox.ts';
import { sessionJail } from './session-jail.ts';
import type { SandboxShape } from './shape.ts';

/** A jail for each sandbox: for hosts that refuse nested namespaces. */
export function createSingleShape(ground: JailGround): SandboxShape {
  const { cgroups, host } = ground;
  return {
    create: async (spec, { signal }) => {
      const layout = await ground.layout(spec);
      const guestConfig = await ground.guestConfig(spec, 'single');
      signal?.throwIfAborted();
      const cgroup = cgroups.create();
      cgroup?.limit(spec.limits);
      const filter = openFilter(host.runDir);
      try {
        const jailArguments = singleJailArguments(layout, sessionJail(spec), 5);
        const jail = await startJail(requireBwrap(), jailArguments, jailIdentity(), {
          extraFds: [filter],
          place: cgroup?.add,
        });
        return jailedSandbox({
          ...{ spec, shape: 'single', guestConfig, channel: jail.socket, cgroup },
          cgroupVersion: cgroups.version(),
          kill: jail.kill,
          gone: async () => {
            await jail.ended;
          },
        });
      } catch (error) {
        await cgroup?.remove();
        throw error;
      } finally {
        closeSync(filter);
      }
    },
  };
}

/** bubblewrap reads the outer filter from a descriptor. */
function openFilter(runDir: string): number {
  const path = join(runDir, 'seccomp.bpf');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, seccompFilter(process.arch as Architecture));
  return openSync(path, 'r');
}
