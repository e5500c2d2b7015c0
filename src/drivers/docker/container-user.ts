import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Mount, SandboxSpec } from '../../sandbox/spec.ts';
import { RELAY_UID } from '../pipe-guest/relay.ts';

/** The user that a container runs as. */
export interface ContainerUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The user of most images that have one, which the profile code-sandbox promises. On most machines a person has this
 * uid, too.
 */
export const COMMON_USER: ContainerUser = { uid: 1000, gid: 1000 };

/**
 * Uids of which each container gets one, because Linux has quotas per uid that neighbours could use up: inotify and
 * epoll watches, pipe pages, pending signals, message queues. systemd documents the range as unused; it lies below
 * 65536 because rootless engines map no more. `images/python/Dockerfile` gives each of them the name `sandbox`.
 */
export const OWN_UIDS = { first: 60_600, count: 512 } as const;

/** The facts that decide the user of sandboxes with host folders. */
export interface Surroundings {
  readonly platform: NodeJS.Platform;
  /** The user that Hotcell runs as; absent on a system without uids. */
  readonly self?: ContainerUser | undefined;
  readonly socketPath?: string | undefined;
}

/**
 * The user of sandboxes that mount folders of the host: the one that Hotcell runs as, who owns the folders. SECURITY: a
 * user of the host with the same uid can look into the container and signal its processes, so no other person may have
 * it. If Hotcell is root, it is the common user. Engines that map uids (rootless, or in a virtual machine) translate
 * them anyway.
 */
export function folderUser({ platform, self, socketPath }: Surroundings): ContainerUser {
  if (platform !== 'linux' || self === undefined || self.uid === 0) return COMMON_USER;
  if (socketPath === undefined || socketPath.startsWith('/run/user/')) return COMMON_USER;
  // SECURITY: uids of other sandboxes and of relays are reserved; the guest obeys a relay's.
  return self.uid >= OWN_UIDS.first && self.uid <= RELAY_UID ? COMMON_USER : self;
}

/** Whether any user may read the folders themselves. Their contents are not checked. */
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

/**
 * The uid allocator of one server. Two servers may use the same uid; their sandboxes then only share the quotas of that
 * uid.
 */
export interface ContainerUsers {
  /** Allocates the user of a new sandbox. */
  take(): ContainerUser;
  /** Marks the uid of a container that another server created as used. */
  hold(uid: number): void;
  release(uid: number): void;
}

export function createContainerUsers(serverId: string): ContainerUsers {
  const held = new Map<number, number>();
  // Servers start at different uids, so that two on one host rarely use the same.
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
 * Which kind of uid a sandbox gets: its own, the one for host folders, or the common one. With folders that are
 * writable or closed to other users it has none of its own, because later sessions and the person must be able to use
 * the files; nor in other images, whose files may be closed to other uids. A profile with its own workspace promises
 * uid 1000. A runtime with its own kernel has its own quotas.
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
