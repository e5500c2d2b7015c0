import { readFileSync } from 'node:fs';

const SETTING = 'fs.epoll.max_user_watches';
/** More watches than programs need, and few enough that one expiring timer can wake them without a long stall. */
const RECOMMENDED = 100_000;
const MOST_WITHOUT_NOTE = 200_000;

/**
 * Notes of `hotcell doctor` about epoll watches, which Linux limits only per uid. An expiring timer walks all its
 * watches with interrupts off. The setting is host-wide and other programs depend on it, so doctor reports it and never
 * changes it.
 */
export function epollNotes(watches: number | undefined, { hasOwnUids }: { hasOwnUids: boolean }): string[] {
  if (watches === undefined || watches <= MOST_WITHOUT_NOTE) return [];
  const remedy = hasOwnUids
    ? `Lower it, if no other program here needs as many: sudo sysctl -w ${SETTING}=${RECOMMENDED} (to keep it: echo ${SETTING}=${RECOMMENDED} | sudo tee /etc/sysctl.d/60-hotcell.conf). Or use gvisor, which has a kernel of its own.`
    : 'Sessions run as your uid here, so a lower limit would let them use up the watches of your own programs. Use gvisor, which has a kernel of its own.';
  return [
    `One session can stop this host's processors for a tenth of a second at a time, by timers with many epoll watches: ${SETTING} is ${watches}. ${remedy}`,
  ];
}

/** The maximum number of epoll watches per user of this host; undefined if it cannot be read. */
export function epollWatches(): number | undefined {
  try {
    const value = Number(readFileSync('/proc/sys/fs/epoll/max_user_watches', 'utf8'));
    return Number.isSafeInteger(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
