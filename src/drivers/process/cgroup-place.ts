import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** A cgroup v2 group in which this server may be able to create its own groups. */
export interface CgroupPlace {
  readonly path: string;
  /** Whether this server was started in it, so that it may move the processes there. */
  readonly own: boolean;
}

export const CGROUP_ROOT = '/sys/fs/cgroup';
/** The controllers that are needed. In cgroup v1 each has a tree of its own. */
export const CONTROLLERS = ['memory', 'pids', 'cpu'] as const;

/** The leaf group for servers that were started in a group which needs children with limits. */
const SERVER_LEAF = 'hotcell-server';

/**
 * The groups to try, best first. Root uses the root of the tree, where no process must be moved. Other users use the
 * group they were started in, or its parent, which is the delegated one if the starter made a subgroup for the server
 * (systemd's `DelegateSubgroup=`).
 */
export function cgroupPlaces(ownPath = ownGroup(), asRoot = process.getuid?.() === 0): CgroupPlace[] {
  if (ownPath === undefined) return [];
  // An earlier Hotcell may have moved this process, or its parent, into its leaf; the group above the leaf is meant.
  const started = basename(ownPath) === SERVER_LEAF ? dirname(ownPath) : ownPath;
  const places = [{ path: join(CGROUP_ROOT, started), own: true }];
  if (asRoot && started !== '/') places.unshift({ path: CGROUP_ROOT, own: false });
  if (!asRoot && dirname(started) !== '/') places.push({ path: join(CGROUP_ROOT, dirname(started)), own: false });
  return places;
}

/** Enables limits for children of the group. If it throws, no process has been moved. */
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
 * Moves all processes of the group into a leaf. cgroup v2 allows processes in leaves only (except in the root of the
 * tree, which a container does not see), so a group with this server in it could have no children with limits. The leaf
 * is kept: this server is in it, and so is the next one started here.
 */
function leaveForLeaf(place: string): void {
  const leaf = join(place, SERVER_LEAF);
  mkdirSync(leaf, { recursive: true });
  try {
    // A child forked during the move may be in either group, so the move is repeated.
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

/** In a container or a cgroup namespace an inner group is mounted at this path. Only the true root lacks this file. */
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

/** The group of this process, as an absolute path in the mounted tree. */
function ownGroup(): string | undefined {
  return readFileSync('/proc/self/cgroup', 'utf8').match(/^0::(\/.*)$/m)?.[1];
}

function words(path: string): string[] {
  return readFileSync(path, 'utf8').split(/\s+/).filter(Boolean);
}
