import { existsSync, rmdirSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CGROUP_ROOT, CONTROLLERS, cgroupPlaces } from './cgroup-place.ts';
import { untilNextAttempt, waitAtMost } from './wait-at-most.ts';

const REMOVAL_MS = 4_000;

/** Removes cgroups that a crashed server left, and kills processes in them, such as a half-built jail. */
export async function removeCgroupsNamed(isLeft: (name: string) => Promise<boolean>): Promise<void> {
  const places = existsSync(join(CGROUP_ROOT, 'cgroup.controllers'))
    ? cgroupPlaces().map(({ path }) => path)
    : CONTROLLERS.map((controller) => join(CGROUP_ROOT, controller));
  for (const place of places) {
    for (const name of await readdir(place).catch(() => [])) {
      if (!name.startsWith('hotcell-') || !(await isLeft(name))) continue;
      await killAllBelow(join(place, name));
      await removeTree([join(place, name)]);
    }
  }
}

async function killAllBelow(folder: string): Promise<void> {
  const below = await readdir(folder).catch(() => []);
  for (const group of below) {
    const pids = await readFile(join(folder, group, 'cgroup.procs'), 'utf8').catch(() => '');
    for (const pid of pids.split('\n').filter(Boolean)) {
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch {
        // The process has ended, or we may not kill it; then the group stays as well.
      }
    }
  }
}

export function removeTree(folders: readonly string[]): Promise<void> {
  return waitAtMost(REMOVAL_MS, removeTrees(folders), `cgroup ${folders[0]}`);
}

/**
 * Removes groups with retries: a group can be removed only when its last process has been reaped, a moment after its
 * death.
 */
export function removeGroups(groups: readonly string[], mostMs = REMOVAL_MS): Promise<void> {
  return waitAtMost(mostMs, removeAll(groups), `cgroup ${groups[0]}`);
}

async function removeTrees(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const below = await readdir(folder, { withFileTypes: true }).catch(() => []);
    await removeAll(below.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name)));
    await removeAll([folder]);
  }
}

async function removeAll(groups: readonly string[]): Promise<void> {
  for (const group of groups) {
    for (let attempt = 0; !isRemoved(group); attempt += 1) await untilNextAttempt(attempt);
  }
}

function isRemoved(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') return true;
    if (code === 'EBUSY') return false;
    throw error;
  }
}
