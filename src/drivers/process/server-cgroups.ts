import { newId } from '../../lib/ids.ts';
import type { Host } from '../../sandbox/host.ts';
import type { Cgroup } from './cgroup.ts';
import { removeCgroupsNamed } from './cgroup-removal.ts';
import { type CgroupFinding, findCgroupTree } from './find-cgroup-tree.ts';

/** The cgroups of one server. The tree is created on first use. */
export interface ServerCgroups {
  /** The tree, or the reason why limits are softer on this host. */
  finding(): CgroupFinding;
  /** The cgroup version; undefined without cgroups, where the softer limits apply. */
  version(): 'v1' | 'v2' | undefined;
  /** Creates a group for one sandbox. */
  create(): Cgroup | undefined;
  remove(): Promise<void>;
}

export function createServerCgroups({ installationId, serverId }: Host, enabled: boolean): ServerCgroups {
  let found: CgroupFinding | undefined;
  const finding = () => {
    found ??= enabled
      ? findCgroupTree(cgroupName(installationId, serverId))
      : { reason: 'cgroups are disabled', remedy: 'Enable them in the configuration.' };
    return found;
  };
  const tree = () => {
    const now = finding();
    return 'tree' in now ? now.tree : undefined;
  };
  return {
    finding,
    version: () => tree()?.version,
    create: () => tree()?.create(newId('g')),
    remove: async () => {
      if (found !== undefined && 'tree' in found) await found.tree.remove();
      found = undefined;
    },
  };
}

/** Removes cgroups that dead servers of this installation left. */
export async function removeDeadCgroups({ installationId, isServerAlive }: Host): Promise<void> {
  const prefix = cgroupName(installationId, '');
  await removeCgroupsNamed(
    async (name) => name.startsWith(prefix) && !(await isServerAlive(name.slice(prefix.length))),
  );
}

function cgroupName(installationId: string, serverId: string): string {
  return `hotcell-${installationId}-${serverId}`;
}
