import { createHash } from 'node:crypto';
import type { SandboxSpec } from '../../sandbox/spec.ts';

/** Who a container runs as. */
export interface ContainerUser {
  readonly uid: number;
  readonly gid: number;
}

/** The user of most images that have one, and on most machines the person. */
export const COMMON_USER: ContainerUser = { uid: 1000, gid: 1000 };

/**
 * Uids that containers get one each, since Linux counts for a uid what neighbours would use up for each other: watchers of files, epoll, pages of
 * pipes, waiting signals, message queues. The range is one that systemd documents as unused, and below 65536 because engines without root map no
 * more. `images/python/Dockerfile` gives each of them the name `sandbox`.
 */
export const OWN_UIDS = { first: 60_600, count: 512 } as const;

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
 * Whether a sandbox may have a uid of its own. Not with folders of the host, whose files the next session, and the person, must go on with; not where a
 * profile promises who the user is; not in other images, where files may be closed to any other uid. A kernel of its own counts for itself.
 */
export function hasOwnUser(
  { mounts, workspace }: Pick<SandboxSpec, 'mounts' | 'workspace'>,
  runtime: { readonly ownKernel?: unknown },
  isStandardImage: boolean,
): boolean {
  return isStandardImage && runtime.ownKernel === undefined && mounts.length === 0 && workspace === undefined;
}
