import { realpath, stat } from 'node:fs/promises';
import { type HeldFolder, holdFolder, identityOf, isSameFolder } from '../lib/held-folder.ts';
import { exchanged, mountDenied } from '../sandbox/mount-denied.ts';
import type { Mount } from '../sandbox/spec.ts';
import type { MountRegistry, Release, ReleaseOptions } from './mount-registry.ts';
import { type MountPolicy, type MountRequest, requireAllowed, requirePlainPlaces, resolveMounts } from './mounts.ts';

/** What one session mounts: held open and entered in the registry from its check until the session has ended. */
export interface HeldMounts {
  readonly mounts: readonly Mount[];
  /** Throws `mount_denied` where the configuration of this server does not allow them: another server may have. */
  requireAllowed(): void;
  /** To be awaited before each making of a sandbox. Rejects with `mount_denied` where a path no longer leads to the folder that was checked. */
  requireSame(): Promise<void>;
  /** Only when nothing of the session runs any more. Safe to repeat. */
  release(how?: ReleaseOptions): Promise<void>;
}

export const NO_MOUNTS: HeldMounts = {
  mounts: [],
  requireAllowed: () => {},
  requireSame: async () => {},
  release: async () => {},
};

/** Checks what a caller asks for. Rejects with `mount_denied`, and with nothing held. */
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
 * Those of a session that another server left: its sandbox has them already. Whether they are allowed now is asked by `requireAllowed`: by whoever takes the
 * sandbox over, who alone can end it.
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
  /** Held from now on where it was not before. */
  async function hold({ source, identity }: Mount): Promise<void> {
    if (folders.some(({ path }) => path === source)) return;
    const folder = await holdFolder(source);
    if (folder !== undefined) folders.push(folder);
    if (folder === undefined || !isSameFolder(folder.identity, identity)) throw exchanged(source);
  }

  const allAllowed = () => {
    for (const mount of mounts) requireAllowed(mount.source, mount, policy);
  };

  return {
    mounts,
    requireAllowed: allAllowed,
    requireSame: async () => {
      allAllowed();
      for (const mount of mounts) {
        await hold(mount);
        if (!(await leadsThere(mount))) throw gone(mount);
      }
      await requirePlainPlaces(mounts);
    },
    release: async (how) => {
      await leaveRegistry(how);
      await Promise.all(folders.splice(0).map((folder) => folder.close()));
    },
  };
}

/** SECURITY: for a refusal that says why. What is bound after it is compared once more, by the driver. */
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
