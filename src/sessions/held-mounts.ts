import { type HeldFolder, holdFolder, isSameFolder } from '../lib/held-folder.ts';
import { walkPath } from '../lib/walk-path.ts';
import { exchanged, mountDenied } from '../sandbox/mount-denied.ts';
import type { Mount } from '../sandbox/spec.ts';
import type { WrittenMount } from './mount-entry.ts';
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
import type { PersistentRecord } from './persistent-records.ts';

/** The mounts of one session: held open and registered from the check until the session has ended. */
export interface HeldMounts {
  readonly mounts: readonly Mount[];
  /** The mounts as the registry compares them. */
  readonly registered: readonly WrittenMount[];
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
  registered: [],
  requireAllowed: () => {},
  requireSame: async () => {},
  release: async () => {},
};

export interface MountsWanted {
  readonly mounts: readonly MountRequest[];
  /** The owner of the session, whose lookups they are. */
  readonly owner?: string | undefined;
}

/** Checks the mounts of a request. Rejects with `mount_denied`, and holds nothing then. */
export async function holdMounts(
  { mounts: requests, owner = 'local' }: MountsWanted,
  policy: MountPolicy,
  registry: MountRegistry,
): Promise<HeldMounts> {
  const { folders, ...resolved } = await resolveMounts(requests, policy, owner);
  try {
    const leaveRegistry = await registry.claim(resolved.registered);
    return heldMounts({ ...resolved, owner }, [...folders], { policy, leaveRegistry });
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
  { owner, spec: { mounts }, registered = mounts }: KnownMounts,
  policy: MountPolicy,
  registry: MountRegistry,
): Promise<HeldMounts> {
  const leaveRegistry = await registry.enter(registered);
  return heldMounts({ mounts, registered, owner }, [], { policy, leaveRegistry });
}

/** The part of a record that tells the mounts of its session. */
export type KnownMounts = Pick<PersistentRecord, 'owner' | 'registered'> & {
  readonly spec: Pick<PersistentRecord['spec'], 'mounts'>;
};

function heldMounts(
  { mounts, registered, owner }: Pick<HeldMounts, 'mounts' | 'registered'> & { owner: string },
  folders: HeldFolder[],
  { policy, leaveRegistry }: { policy: MountPolicy; leaveRegistry: Release },
): HeldMounts {
  /** Holds the folder unless it is held already. */
  async function hold({ source, identity }: Mount): Promise<void> {
    if (folders.some(({ path }) => path === source)) return;
    const folder = await lookUpMount(owner, {
      shown: source,
      act: () => holdFolder(source),
      late: (late) => void late?.close(),
    });
    if (folder !== undefined) folders.push(folder);
    if (folder === undefined || !isSameFolder(folder.identity, identity)) throw exchanged(source);
  }

  const allAllowed = () => {
    const rules = rulesOf(policy);
    for (const mount of mounts) requireAllowed(mount.source, mount, rules);
  };

  return {
    mounts,
    registered,
    requireAllowed: allAllowed,
    requireSame: async () => {
      allAllowed();
      for (const mount of mounts) {
        await hold(mount);
        const act = (signal: AbortSignal) => leadsThere(mount, signal);
        if (!(await lookUpMount(owner, { shown: mount.source, act }))) throw gone(mount);
      }
      await requirePlainPlaces(mounts, owner);
    },
    release: async (how) => {
      await leaveRegistry(how);
      await Promise.all(folders.splice(0).map((folder) => folder.close()));
    },
  };
}

/** SECURITY: this check is for a refusal with a reason. The driver compares the folder again when it is bound. */
async function leadsThere({ source, identity }: Mount, signal: AbortSignal): Promise<boolean> {
  const found = await walkPath(source, { signal });
  if (found.kind !== 'found' || found.place !== source) return false;
  const folder = await holdFolder(source);
  await folder?.close();
  return folder !== undefined && isSameFolder(folder.identity, identity);
}

function gone({ source }: Mount) {
  return mountDenied(`${source}: no longer the folder that was allowed`, 'Open a new session.');
}
