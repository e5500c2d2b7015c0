import { realpath, stat } from 'node:fs/promises';
import { type HeldFolder, holdFolder, identityOf, isSameFolder } from '../lib/held-folder.ts';
import { exchanged, mountDenied } from '../sandbox/mount-denied.ts';
import type { Mount } from '../sandbox/spec.ts';
import { lookUpMount } from './mount-lookups.ts';
import type { MountRegistry, Release, ReleaseOptions } from './mount-registry.ts';
import {
  type MountPolicy,
  type MountRequest,
  requireAllowed,
  requirePlainPlaces,
  resolveMounts,
  rulesOf,
} from './mounts.ts';

/** The mounts of one session: held open and registered from the check until the session has ended. */
export interface HeldMounts {
  readonly mounts: readonly Mount[];
  /**
   * Throws `mount_denied` if the configuration of this server does not allow them; another server may have allowed
   * them.
   */
  requireAllowed(): void;
  /**
   * Await it before creating a sandbox. Rejects with `mount_denied` if a path no longer leads to the folder that was
   * checked.
   */
  requireSame(): Promise<void>;
  /** Call it only when nothing of the session runs any more. Idempotent. */
  release(how?: ReleaseOptions): Promise<void>;
}

export const NO_MOUNTS: HeldMounts = {
  mounts: [],
  requireAllowed: () => {},
  requireSame: async () => {},
  release: async () => {},
};

/** Checks the mounts of a request. Rejects with `mount_denied`, and holds nothing then. */
export async function holdMounts(
  requests: readonly MountRequest[],
  policy: MountPolicy,
  registry: MountRegistry,
): Promise<HeldMounts> {
  const { mounts, folders } = await resolveMounts(requests, policy);
  try {
    return heldMounts(mounts, [...folders], { policy, leaveRegistry: await registry.claim(mounts) });
  } catch (error) {
    await Promise.all(folders.map((folder) => folder.close()));
    throw error;
  }
}

/**
 * Holds the mounts of a session that another server left; its sandbox has them already. The server that adopts the
 * sandbox calls `requireAllowed`, since only that server can end it.
 */
export async function holdKnownMounts(
  mounts: readonly Mount[],
  policy: MountPolicy,
  registry: MountRegistry,
): Promise<HeldMounts> {
  return heldMounts(mounts, [], { policy, leaveRegistry: await registry.enter(mounts) });
}

function heldMounts(
  mounts: readonly Mount[],
  folders: HeldFolder[],
  { policy, leaveRegistry }: { policy: MountPolicy; leaveRegistry: Release },
): HeldMounts {
  /** Holds the folder unless it is held already. */
  async function hold({ source, identity }: Mount): Promise<void> {
    if (folders.some(({ path }) => path === source)) return;
    const folder = await lookUpMount(
      source,
      () => holdFolder(source),
      (late) => void late?.close(),
    );
    if (folder !== undefined) folders.push(folder);
    if (folder === undefined || !isSameFolder(folder.identity, identity)) throw exchanged(source);
  }

  const allAllowed = () => {
    const rules = rulesOf(policy);
    for (const mount of mounts) requireAllowed(mount.source, mount, rules);
  };

  return {
    mounts,
    requireAllowed: allAllowed,
    requireSame: async () => {
      allAllowed();
      for (const mount of mounts) {
        await hold(mount);
        if (!(await lookUpMount(mount.source, () => leadsThere(mount)))) throw gone(mount);
      }
      await requirePlainPlaces(mounts);
    },
    release: async (how) => {
      await leaveRegistry(how);
      await Promise.all(folders.splice(0).map((folder) => folder.close()));
    },
  };
}

/** SECURITY: this check is for a refusal with a reason. The driver compares the folder again when it is bound. */
async function leadsThere({ source, identity }: Mount): Promise<boolean> {
  try {
    const found = await stat(source, { bigint: true });
    return (await realpath(source)) === source && isSameFolder(identityOf(found), identity);
  } catch {
    return false;
  }
}

function gone({ source }: Mount) {
  return mountDenied(`${source}: no longer the folder that was allowed`, 'Open a new session.');
}
