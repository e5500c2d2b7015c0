import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type CgroupTree, v1Tree, v2Tree } from './cgroup.ts';
import { CGROUP_ROOT, CONTROLLERS, cgroupPlaces } from './cgroup-place.ts';

export type CgroupFinding = { tree: CgroupTree } | { reason: string; remedy: string };

/**
 * Creates the group `name` (unique to this server) in the cgroup tree, v2 before v1, and returns the tree or the reason
 * why there is none.
 */
export function findCgroupTree(name: string): CgroupFinding {
  const asRoot = process.getuid?.() === 0;
  if (existsSync(join(CGROUP_ROOT, 'cgroup.controllers'))) return findV2(name);
  if (CONTROLLERS.every((controller) => existsSync(join(CGROUP_ROOT, controller, 'cgroup.procs')))) {
    if (asRoot) return tryTree(() => v1Tree(name));
    return { reason: 'cgroup v1 is open to root only', remedy: 'Run Hotcell as root, or boot with cgroup v2.' };
  }
  return {
    reason: 'no cgroup tree with memory, pids and cpu controllers is mounted',
    remedy: 'Mount cgroup v2 at /sys/fs/cgroup.',
  };
}

function findV2(name: string): CgroupFinding {
  const reasons: string[] = [];
  for (const place of cgroupPlaces()) {
    const found = tryTree(() => v2Tree(place, name));
    if ('tree' in found) return found;
    reasons.push(found.reason);
  }
  return {
    reason: reasons.at(0) ?? 'this process is not in a cgroup v2 group',
    remedy: 'Start Hotcell in a delegated cgroup: systemd-run --user --scope -p Delegate=yes hotcell …',
  };
}

function tryTree(make: () => CgroupTree): CgroupFinding {
  try {
    return { tree: make() };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { reason: `cgroups cannot be used: ${message}`, remedy: 'Run as root, or in a delegated cgroup.' };
  }
}
