import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** A group of cgroup v2 in which this server may be able to make its own. */
export interface CgroupPlace {
  readonly path: string;
  /** Whether it is the one we were started in, so that its processes are ours to move. */
  readonly own: boolean;
}

export const CGROUP_ROOT = '/sys/fs/cgroup';
/** In cgroup v1 each is a tree of its own. */
export const CONTROLLERS = ['memory', 'pids', 'cpu'] as const;

/** Where servers go that were started in a group which is to have limited children. */
const SERVER_LEAF = 'hotcell-server';

/**
 * Where to try, best first. Root takes the root of the tree, where nothing has to be moved. Anybody else takes the group it was started in, or the
 * one above, which is the delegated one where the starter made a subgroup for the server (systemd's `DelegateSubgroup=`).
 */
export function cgroupPlaces(ownPath = ownGroup(), asRoot = process.getuid?.() === 0): CgroupPlace[] {
  if (ownPath === undefined) return [];
  // A Hotcell that ran here before has moved us, or whoever started us, into its leaf: the place is the same as then.
  const started = basename(ownPath) === SERVER_LEAF ? dirname(ownPath) : ownPath;
  const places = [{ path: join(CGROUP_ROOT, started), own: true }];
  if (asRoot && started !== '/') places.unshift({ path: CGROUP_ROOT, own: false });
  if (!asRoot && dirname(started) !== '/') places.push({ path: join(CGROUP_ROOT, dirname(started)), own: false });
  return places;
}

/** Lets children of the place have limits. Throws where it cannot; then nothing has been moved. */
export function openPlace({ path, own }: CgroupPlace): void {
  for (const name of ['', 'cgroup.procs', 'cgroup.subtree_control']) mustBeWritable(path, name);
  const available = words(join(path, 'cgroup.controllers'));
  const missing = CONTROLLERS.filter((controller) => !available.includes(controller));
  if (missing.length > 0) throw new Error(`${path} has no controller for ${missing.join(', ')}`);
  if (own && !isTreeRoot(path)) leaveForLeaf(path);
  enableControllers(path);
}

export function enableControllers(group: string): void {
  writeFileSync(join(group, 'cgroup.subtree_control'), CONTROLLERS.map((controller) => `+${controller}`).join(' '));
}

/**
 * cgroup v2 allows processes in leaves only (except in the root of the tree, which a container does not see): a group with us in it
 * could have no limited children. The leaf stays as long as the group: we are in it, and so is the next server that is started here.
 */
function leaveForLeaf(place: string): void {
  const leaf = join(place, SERVER_LEAF);
  mkdirSync(leaf, { recursive: true });
  try {
    // What a process forks while it is moved may be born on either side.
    for (let round = 0; round < 10; round += 1) {
      const pids = words(join(place, 'cgroup.procs')).filter((pid) => pid !== '0');
      if (pids.length === 0) return;
      for (const pid of pids) moveIfThere(pid, leaf);
    }
  } catch (error) {
    if (words(join(leaf, 'cgroup.procs')).length === 0) rmdirSync(leaf);
    throw error;
  }
}

function moveIfThere(pid: string, group: string): void {
  try {
    writeFileSync(join(group, 'cgroup.procs'), pid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A container or a cgroup namespace mounts some inner group at the same path: only the true root lacks this file. */
function isTreeRoot(path: string): boolean {
  return !existsSync(join(path, 'cgroup.type'));
}

function mustBeWritable(place: string, name: string): void {
  try {
    accessSync(join(place, name), constants.W_OK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new Error(`${place} is ${code === 'EROFS' ? 'mounted read-only' : 'not delegated to this user'}`);
  }
}

/** As `/proc` has it: absolute in the tree that is mounted here. */
function ownGroup(): string | undefined {
  return readFileSync('/proc/self/cgroup', 'utf8').match(/^0::(\/.*)$/m)?.[1];
}

function words(path: string): string[] {
  return readFileSync(path, 'utf8').split(/\s+/).filter(Boolean);
}
