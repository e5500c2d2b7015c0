import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';

const SHARED_MEMORY = '/dev/shm';
const GiB = 1_073_741_824;
/** Tests need two at most. */
const LEAST_FREE_BYTES = 8 * GiB;
const ENDED_BY = { SIGINT: 130, SIGTERM: 143 };

/**
 * Makes a temporary folder in memory for tests, which is removed when this process ends, and returns its path; undefined where the machine has little
 * memory. Tests make and remove so many files that ext4, which skips inodes freed in the last minutes one by one, takes half of the system's time for that.
 */
export function fastTemporaryFolder() {
  if (process.platform !== 'linux' || process.env.TMPDIR !== undefined) return undefined;
  try {
    const { bavail, bsize } = statfsSync(SHARED_MEMORY);
    if (Math.min(bavail * bsize, freemem()) < LEAST_FREE_BYTES) return undefined;
    // A short name: sockets have their place below it.
    const path = mkdtempSync(`${SHARED_MEMORY}/hc-`);
    chmodSync(path, 0o1777);
    process.once('exit', () => rmSync(path, { recursive: true, force: true }));
    for (const [signal, exitCode] of Object.entries(ENDED_BY)) process.once(signal, () => process.exit(exitCode));
    return path;
  } catch {
    return undefined;
  }
}
