import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Limits } from '../../sandbox/spec.ts';
import { CGROUP_ROOT, type CgroupPlace, cgroupPlaces, enableControllers, openPlace } from './cgroup-place.ts';

/** Where this server can make cgroups: the only limits on memory, processor time and processes that hold against anything. */
export interface CgroupTree {
  readonly version: 'v1' | 'v2';
  /** A group of its own, empty and not limited yet. */
  create(id: string): Cgroup;
  /** Groups of this server that are still there. */
  remove(): Promise<void>;
}

export interface Cgroup {
  limit(limits: Limits): void;
  add(pid: number): Promise<void>;
  memoryBytes(): number | undefined;
  memoryKills(): number;
  /** Waits for the last process to be gone, then removes it. */
  remove(): Promise<void>;
}

export type CgroupFinding = { tree: CgroupTree } | { reason: string; remedy: string };

const V1_CONTROLLERS = ['memory', 'pids', 'cpu'] as const;
const CPU_PERIOD_US = 100_000;

/** Finds a place for `name` (unique to this server) in the cgroup tree, v2 before v1, by making it. */
export function findCgroupTree(name: string): CgroupFinding {
  const asRoot = process.getuid?.() === 0;
  if (existsSync(join(CGROUP_ROOT, 'cgroup.controllers'))) return findV2(name);
  if (V1_CONTROLLERS.every((controller) => existsSync(join(CGROUP_ROOT, controller, 'cgroup.procs')))) {
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
    reason: reasons.at(0) ?? 'this process is in no group of cgroup v2',
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

function v2Tree(place: CgroupPlace, name: string): CgroupTree {
  openPlace(place);
  const folder = join(place.path, name);
  mkdirSync(folder);
  try {
    enableControllers(folder);
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
  return {
    version: 'v2',
    create: (id) => {
      const group = join(folder, id);
      mkdirSync(group);
      return {
        limit: (limits) => {
          writeFileSync(join(group, 'memory.max'), String(limits.memoryBytes));
          writeIfThere(join(group, 'memory.swap.max'), '0');
          // The kernel alone dies: its supervisor stays, and starts the next one.
          writeFileSync(join(group, 'memory.oom.group'), '0');
          writeFileSync(join(group, 'pids.max'), String(limits.processes));
          writeFileSync(join(group, 'cpu.max'), `${Math.round(limits.cpus * CPU_PERIOD_US)} ${CPU_PERIOD_US}`);
        },
        add: (pid) => writeFile(join(group, 'cgroup.procs'), String(pid)),
        memoryBytes: () => readNumber(join(group, 'memory.current')),
        memoryKills: () => readCounter(join(group, 'memory.events'), 'oom_kill'),
        remove: () => removeGroups([group]),
      };
    },
    remove: () => removeTree([folder]),
  };
}

function v1Tree(name: string): CgroupTree {
  const folders = V1_CONTROLLERS.map((controller) => join(CGROUP_ROOT, controller, name));
  for (const folder of folders) mkdirSync(folder);
  return {
    version: 'v1',
    create: (id) => {
      const groups = folders.map((folder) => join(folder, id));
      for (const group of groups) mkdirSync(group);
      const [memory, pids, cpu] = groups as [string, string, string];
      return {
        limit: (limits) => {
          writeFileSync(join(memory, 'memory.limit_in_bytes'), String(limits.memoryBytes));
          writeIfThere(join(memory, 'memory.memsw.limit_in_bytes'), String(limits.memoryBytes));
          writeFileSync(join(pids, 'pids.max'), String(limits.processes));
          writeFileSync(join(cpu, 'cpu.cfs_period_us'), String(CPU_PERIOD_US));
          writeFileSync(join(cpu, 'cpu.cfs_quota_us'), String(Math.round(limits.cpus * CPU_PERIOD_US)));
        },
        add: async (pid) => {
          await Promise.all(groups.map((group) => writeFile(join(group, 'cgroup.procs'), String(pid))));
        },
        memoryBytes: () => readNumber(join(memory, 'memory.usage_in_bytes')),
        memoryKills: () => readCounter(join(memory, 'memory.oom_control'), 'oom_kill'),
        remove: () => removeGroups(groups),
      };
    },
    remove: () => removeTree(folders),
  };
}

/** Removes groups that a crashed server left, and what may still run in them: a jail that was half built when its server died. */
export async function removeCgroupsNamed(isLeft: (name: string) => Promise<boolean>): Promise<void> {
  const places = existsSync(join(CGROUP_ROOT, 'cgroup.controllers'))
    ? cgroupPlaces().map(({ path }) => path)
    : V1_CONTROLLERS.map((controller) => join(CGROUP_ROOT, controller));
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

async function removeTree(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const below = await readdir(folder, { withFileTypes: true }).catch(() => []);
    await removeGroups(below.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name)));
    await removeGroups([folder]);
  }
}

/** A group can be removed only when its last process has been reaped, which takes a moment after its death. */
async function removeGroups(groups: readonly string[]): Promise<void> {
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

function readNumber(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function readCounter(path: string, name: string): number {
  try {
    const line = readFileSync(path, 'utf8')
      .split('\n')
      .find((entry) => entry.startsWith(`${name} `));
    return line === undefined ? 0 : Number(line.slice(name.length + 1));
  } catch {
    return 0;
  }
}

function writeIfThere(path: string, value: string): void {
  try {
    writeFileSync(path, value);
  } catch (error) {
    if (!['ENOENT', 'EACCES', 'EINVAL', 'EOPNOTSUPP'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error;
  }
}
