import { existsSync, rmdirSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CGROUP_ROOT, CONTROLLERS, cgroupPlaces } from './cgroup-place.ts';

/** Removes groups that a crashed server left, and what may still run in them: a jail that was half built when its server died. */
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
        // It has gone by itself, or is not ours to end: then the group stays as well.
      }
    }
  }
}

export async function removeTree(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const below = await readdir(folder, { withFileTypes: true }).catch(() => []);
    await removeGroups(below.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name)));
    await removeGroups([folder]);
  }
}

/** A group can be removed only when its last process has been reaped, which takes a moment after its death. */
export async function removeGroups(groups: readonly string[]): Promise<void> {
  for (const group of groups) {
    for (let attempt = 0; attempt < 400; attempt += 1) {
      try {
        rmdirSync(group);
        break;
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code;
        if (code === 'ENOENT') break;
        if (code !== 'EBUSY') throw error;
        await sleep(attempt < 20 ? 1 : 10);
      }
    }
  }
}
