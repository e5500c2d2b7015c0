import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * The uids of one jail and of the sessions in it. Linux counts epoll watches, descriptors in flight, pipe pages, inotify watches and more for each
 * uid: sessions that shared one could use up each other's.
 */
export interface UidBlock {
  /** The uid that the jail itself runs as. */
  readonly jail: number;
  /** A line for each range of the jail's uid_map: inside, outside, length. */
  readonly map: string;
  /** The uid of the next session, as the jail and the host count. */
  next(): number;
  /** The jail has ended, and its uids can be given to another. */
  release(): void;
}

export interface UidBlocks {
  /** Undefined where this server cannot give uids away: it is not root, or its own user namespace has no such uids. */
  take(): UidBlock | undefined;
}

/**
 * SECURITY: no person can have or take one of these. They lie above what `/etc/subuid` delegates, above the ranges of containers (systemd) and of
 * directories (SSSD ends at 2000200000), and below the one of foreign files.
 */
const FIRST_UID = 0x78000000;
const END_UID = 0x7ffe0000;
const BLOCK_UIDS = 16_384;
const BLOCKS = Math.floor((END_UID - FIRST_UID) / BLOCK_UIDS);

/** The uid and gid on the host of jails whose sessions have one in common. */
export const COMMON_ID = FIRST_UID - 1;

/** Whether processes of a jail, or of a bubblewrap that has not become one yet, may have this uid on the host. */
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
      // Other servers take theirs by chance as well; two that met would share counters, and nothing else.
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

/** Whether a uid_map, as /proc has it, maps all of these uids to themselves. */
export function coversUids(map: string, first: number, count: number): boolean {
  return map.split('\n').some((line) => {
    const [inside = Number.NaN, outside, length = 0] = line.trim().split(/ +/).map(Number);
    return inside === outside && inside <= first && inside + length >= first + count;
  });
}
