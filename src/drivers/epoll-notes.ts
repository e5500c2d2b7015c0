import { readFileSync } from 'node:fs';

const SETTING = 'fs.epoll.max_user_watches';
/** More than programs need, and few enough for an expiring timer to wake in one go. */
const RECOMMENDED = 100_000;
const MOST_WITHOUT_NOTE = 200_000;

/**
 * What `hotcell doctor` says about epoll watches, which Linux limits for each uid and by nothing else. A timer that expires walks all its watches with
 * interrupts off. The setting is the host's, and programs of others depend on it: so it is told, and never changed.
 */
export function epollNotes(watches: number | undefined, { hasOwnUids }: { hasOwnUids: boolean }): string[] {
  if (watches === undefined || watches <= MOST_WITHOUT_NOTE) return [];
  const remedy = hasOwnUids
    ? `Lower it, if no other program here needs as many: sudo sysctl -w ${SETTING}=${RECOMMENDED} (to keep it: echo ${SETTING}=${RECOMMENDED} | sudo tee /etc/sysctl.d/60-hotcell.conf). Or use gvisor, which has a kernel of its own.`
    : 'Sessions have your uid here, and would take the watches of your own programs if it were lower. Use gvisor, which has a kernel of its own.';
  return [
    `One session can stop this host's processors for a tenth of a second at a time, by timers with many epoll watches: ${SETTING} is ${watches}. ${remedy}`,
  ];
}

/** The number of epoll watches that one user of this host can have; undefined where it cannot be read. */
export function epollWatches(): number | undefined {
  try {
    const value = Number(readFileSync('/proc/sys/fs/epoll/max_user_watches', 'utf8'));
    return Number.isSafeInteger(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
