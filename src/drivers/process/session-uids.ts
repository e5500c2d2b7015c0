import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * The uids of one jail and its sessions. Linux has quotas per uid for epoll watches, descriptors in flight, pipe pages,
 * inotify watches and more: sessions with the same uid could use up each other's.
 */
export interface UidBlock {
  /** The uid that the jail itself runs as. */
  readonly jail: number;
  /** The lines of the jail's uid_map: inside, outside, length. */
  readonly map: string;
  /** The uid of the next session, both in the jail and on the host. */
  next(): number;
  /** Returns the uids for reuse after the jail has ended. */
  release(): void;
}

export interface UidBlocks {
  /** Undefined if this server cannot assign uids: it is not root, or its user namespace lacks these uids. */
  take(): UidBlock | undefined;
}

/**
 * SECURITY: no person can have or get one of these uids. They lie above the ranges that `/etc/subuid` delegates, above
 * those of containers (systemd) and directory services (SSSD ends at 2000200000), and below systemd's range for foreign
 * files.
 */
const FIRST_UID = 0x78000000;
const END_UID = 0x7ffe0000;
const BLOCK_UIDS = 16_384;
const BLOCKS = Math.floor((END_UID - FIRST_UID) / BLOCK_UIDS);

/** The uid and gid on the host of jails whose sessions share one. */
export const COMMON_ID = FIRST_UID - 1;

/** Whether a process of a jail, or of a bubblewrap during setup, may have this uid on the host. */
export function mayBeJail(uid: number, own = process.getuid?.()): boolean {
  return uid === own || (own === 0 && uid >= COMMON_ID && uid < END_UID);
}

/** The uid that every session has inside. */
export const INSIDE_UID = 1000;

export function createUidBlocks(
  isRoot = process.getuid?.() === 0,
  ownMap = isRoot ? readFileSync('/proc/self/uid_map', 'utf8') : '',
): UidBlocks {
  const taken = new Set<number>();
  const canGive = isRoot && coversUids(ownMap, FIRST_UID, BLOCKS * BLOCK_UIDS);
  return {
    take: () => {
      if (!canGive || taken.size >= BLOCKS / 2) return undefined;
      // Servers choose at random. Two servers with the same block would share quotas, and nothing else.
      let index = randomInt(BLOCKS);
      while (taken.has(index)) index = randomInt(BLOCKS);
      taken.add(index);
      return uidBlock(FIRST_UID + index * BLOCK_UIDS, () => taken.delete(index));
    },
  };
}

function uidBlock(first: number, release: () => void): UidBlock {
  let given = 0;
  const sessions = BLOCK_UIDS - 1;
  return {
    jail: first,
    map: `${INSIDE_UID} ${first} 1\n${first + 1} ${first + 1} ${sessions}\n`,
    next: () => first + 1 + (given++ % sessions),
    release,
  };
}

/** Whether a uid_map, in the format of /proc, maps all of these uids to themselves. */
export function coversUids(map: string, first: number, count: number): boolean {
  return map.split('\n').some((line) => {
    const [inside = Number.NaN, outside, length = 0] = line.trim().split(/ +/).map(Number);
    return inside === outside && inside <= first && inside + length >= first + count;
  });
}
