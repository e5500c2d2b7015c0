import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Mount, SandboxSpec } from '../../sandbox/spec.ts';
import { RELAY_UID } from '../pipe-guest/relay.ts';

/** Who a container runs as. */
export interface ContainerUser {
  readonly uid: number;
  readonly gid: number;
}

/** The user of most images that have one, which the profile code-sandbox promises. On most machines it is also a person. */
export const COMMON_USER: ContainerUser = { uid: 1000, gid: 1000 };

/**
 * Uids that containers get one each, since Linux counts for a uid what neighbours would use up for each other: watchers of files, epoll, pages of
 * pipes, waiting signals, message queues. The range is one that systemd documents as unused, and below 65536 because engines without root map no
 * more. `images/python/Dockerfile` gives each of them the name `sandbox`.
 */
export const OWN_UIDS = { first: 60_600, count: 512 } as const;

/** What decides who the sandboxes are that hold folders of the host. */
export interface Surroundings {
  readonly platform: NodeJS.Platform;
  /** Who Hotcell runs as; absent where the system has no such numbers. */
  readonly self?: ContainerUser | undefined;
  readonly socketPath?: string | undefined;
}

/**
 * The user of sandboxes that hold folders of the host: the one that Hotcell runs as, to whom the folders belong. SECURITY: no other person of the host then
 * has the uid, with which one can look into a container and signal what runs in it. As root it is the common one. Engines that
 * map uids (without root, or in a machine of their own) make others of them anyway.
 */
export function folderUser({ platform, self, socketPath }: Surroundings): ContainerUser {
  if (platform !== 'linux' || self === undefined || self.uid === 0) return COMMON_USER;
  if (socketPath === undefined || socketPath.startsWith('/run/user/')) return COMMON_USER;
  // SECURITY: the uids of other sandboxes and of relays are for nobody else.
  return self.uid >= OWN_UIDS.first && self.uid <= RELAY_UID ? COMMON_USER : self;
}

/** Whether any user may read the folders themselves. What lies in them is not looked at. */
export async function areOpenToAll(mounts: readonly Pick<Mount, 'source'>[]): Promise<boolean> {
  const modes = await Promise.all(
    mounts.map(({ source }) =>
      stat(source)
        .then(({ mode }) => mode)
        .catch(() => 0),
    ),
  );
  return modes.every((mode) => (mode & 0o005) === 0o005);
}

/** The uids of one server. Another server may use the same: that costs no more than counting together. */
export interface ContainerUsers {
  /** The user of a new sandbox. */
  take(): ContainerUser;
  /** A container that another server made runs as this one. */
  hold(uid: number): void;
  release(uid: number): void;
}

export function createContainerUsers(serverId: string): ContainerUsers {
  const held = new Map<number, number>();
  // Servers begin at different places, so that those of one host rarely meet.
  let next = createHash('sha256').update(serverId).digest().readUInt32LE() % OWN_UIDS.count;

  function hold(uid: number): void {
    held.set(uid, (held.get(uid) ?? 0) + 1);
  }

  return {
    hold,
    take: () => {
      let uid = OWN_UIDS.first + next;
      for (let tried = 0; held.has(uid) && tried < OWN_UIDS.count; tried += 1) {
        uid = OWN_UIDS.first + ((uid - OWN_UIDS.first + 1) % OWN_UIDS.count);
      }
      next = (uid - OWN_UIDS.first + 1) % OWN_UIDS.count;
      hold(uid);
      return { uid, gid: COMMON_USER.gid };
    },
    release: (uid) => {
      const left = (held.get(uid) ?? 0) - 1;
      if (left > 0) held.set(uid, left);
      else held.delete(uid);
    },
  };
}

/**
 * Whose uid a sandbox has: one of its own, the one for folders of the host, or the common one. None of its own with folders that it can write to, or that are
 * closed to others: the next session, and the person, must go on with the files; nor in other images, where files may be closed to any
 * other uid. A profile with a workspace of its own promises who the user is. A kernel of its own counts for itself.
 */
export function kindOfUser(
  { mounts, workspace }: Pick<SandboxSpec, 'mounts' | 'workspace'>,
  runtime: { readonly ownKernel?: unknown },
  known: { readonly isStandardImage: boolean; readonly foldersAreOpen: boolean },
): 'own' | 'folders' | 'common' {
  if (workspace !== undefined) return 'common';
  if (runtime.ownKernel !== undefined) return mounts.length > 0 ? 'folders' : 'common';
  const readsOnly = known.foldersAreOpen && mounts.every(({ readOnly }) => readOnly);
  return known.isStandardImage && readsOnly ? 'own' : 'folders';
}
