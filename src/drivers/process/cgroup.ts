import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Limits, socketBytesOf } from '../../sandbox/spec.ts';
import { CGROUP_ROOT, type CgroupPlace, CONTROLLERS, enableControllers, openPlace } from './cgroup-place.ts';
import { removeGroups, removeTree } from './cgroup-removal.ts';

/**
 * The place where this server creates cgroups: the only limits on memory, CPU time and processes that cannot be evaded.
 */
export interface CgroupTree {
  readonly version: 'v1' | 'v2';
  /** Creates an empty group without limits. */
  create(id: string): Cgroup;
  /** Removes all groups of this server. */
  remove(): Promise<void>;
}

export interface Cgroup {
  limit(limits: Limits): void;
  add(pid: number): Promise<void>;
  memoryBytes(): number | undefined;
  memoryKills(): number;
  /** Waits for the last process to end, then removes the group. */
  remove(): Promise<void>;
}

const CPU_PERIOD_US = 100_000;

export function v2Tree(place: CgroupPlace, name: string): CgroupTree {
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
          // Only the kernel is killed: its supervisor survives and starts the next one.
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

export function v1Tree(name: string): CgroupTree {
  const folders = CONTROLLERS.map((controller) => join(CGROUP_ROOT, controller, name));
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
          // SECURITY: without this limit a sandbox can hold gigabytes of the host's memory in loopback sockets. Despite
          // its name, it counts UDP as well; cgroup v2 counts sockets as memory.
          writeIfThere(join(memory, 'memory.kmem.tcp.limit_in_bytes'), String(socketBytesOf(limits)));
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
