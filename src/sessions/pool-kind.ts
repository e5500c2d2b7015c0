import { posix } from 'node:path';
import { isWithin } from '../lib/is-within.ts';
import { mountTreeOf } from '../lib/mount-tree.ts';
import { readMountinfo } from '../lib/mountinfo.ts';
import type { Driver } from '../sandbox/driver.ts';
import { type SandboxSpec, WORKSPACE } from '../sandbox/spec.ts';

/**
 * Whose code is within reach of a sandbox that is made ahead: only the server's (`server`), or also its owner's
 * (`owner`), so that it is made for that owner alone and counts as one of its sessions. `none`: it is not made ahead.
 */
export type Pooling = 'server' | 'owner' | 'none';

/** The owner of a Hotcell that serves its own user. */
const LOCAL_OWNER = 'local';
/** The home folder, where packages look for their configuration while they are imported. */
const HOME = '/tmp';

/**
 * How a spec is pooled. Not for persistent sessions: their sandbox outlives this server, and a pooled one would end with
 * it. Not for jails with mounts: they get them when they are claimed, at once.
 *
 * SECURITY: nothing of a caller may run before a session is open: no quota would count it, and no `close` end it. The
 * session's variables are sent at the claim (`handOver`). A mount in the home folder could be the configuration of a
 * preload, and one that holds the workspace lies where a kernel stands. The programs of an image are the caller's, unless
 * the operator chose it, and so are the files of a mount: should one of them run after all, it meets no other owner. A
 * pooled container keeps its folders mounted while the registry of writable folders no longer knows them, which only the
 * user of this machine may do.
 */
export function poolingOf(driver: Driver, spec: SandboxSpec, serversImage: string | undefined): Pooling {
  const { mounts, persistent, image, owner, workspace = WORKSPACE } = spec;
  if (persistent !== undefined) return 'none';
  if (driver.traits.sharesWithinOwner) return mounts.length === 0 ? 'server' : 'none';
  const isServersImage = image === undefined || image === serversImage;
  if (mounts.length === 0) return isServersImage ? 'server' : 'owner';
  if (!isServersImage || mounts.some(({ target }) => isRead(target, workspace))) return 'none';
  return owner === LOCAL_OWNER || mounts.every(({ readOnly }) => readOnly) ? 'owner' : 'none';
}

/** Whether programs of the server may look for their own files in a folder that is mounted there. */
function isRead(target: string, workspace: string): boolean {
  return isWithin(target, HOME, posix) || isWithin(workspace, target, posix);
}

/**
 * The key of a kind: a sandbox created for one spec serves every other spec of the same kind. SECURITY: a mount is
 * identified by the folder itself (device and inode), not by its path, which may lead to another folder by the time of
 * the claim. Nor does the folder say which file systems are mounted below it, and whether they are read-only: a sandbox
 * keeps those of the time when it was created, so the mount tree is part of the key. Undefined if the tree is unknown:
 * such a sandbox is not created ahead.
 */
export function kindOf(
  driver: Driver,
  spec: SandboxSpec,
  pooling: Pooling,
  mountinfo = readMountinfo,
): string | undefined {
  const { image, limits, preloads, workspace, tmpBytes, mounts } = spec;
  const tree = mountTreeOf(
    mounts.map(({ source }) => source),
    mountinfo,
  );
  if (tree === undefined) return undefined;
  return JSON.stringify([
    driver.name,
    ownerOf(driver, spec, pooling),
    image,
    limits,
    preloads,
    workspace,
    tmpBytes,
    mounts.map(({ source, target, readOnly, identity }) => [source, target, readOnly, identity]),
    tree,
  ]);
}

/**
 * The owner of a sandbox created ahead: none until it is claimed, unless it shares memory within its owner or may run
 * the owner's code.
 */
export function ownerOf(driver: Driver, spec: SandboxSpec, pooling: Pooling): string {
  return driver.traits.sharesWithinOwner || pooling === 'owner' ? spec.owner : 'pool';
}
