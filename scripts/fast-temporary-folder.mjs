import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { freemem } from 'node:os';

const GiB = 1_073_741_824;
/** Tests need two at most. */
const LEAST_FREE_BYTES = 8 * GiB;
const ENDED_BY = { SIGINT: 130, SIGTERM: 143 };

/**
 * Mounts a temporary folder in memory for tests, which is gone when this process ends, and returns its path; undefined
 * where that is not possible or the machine has little memory. Tests make and remove so many files that ext4, which
 * skips inodes freed in the last minutes one by one, takes half of the system's time for that. It is a mount of its own
 * below /tmp because no session may mount a folder of /dev/shm.
 */
export function fastTemporaryFolder() {
  const isRoot = process.platform === 'linux' && process.getuid() === 0;
  if (!isRoot || process.env.TMPDIR !== undefined || freemem() < LEAST_FREE_BYTES) return undefined;
  // A short name: sockets have their place below it.
  const path = mkdtempSync('/tmp/hc-');
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'mode=1777,size=6g', 'hotcell-tests', path]);
  if (status !== 0) {
    rmdirSync(path);
    return undefined;
  }
  process.once('exit', () => {
    // Lazily: what a test left running may still have a file open.
    if (spawnSync('umount', ['--lazy', path]).status === 0) rmdirSync(path);
  });
  for (const [signal, exitCode] of Object.entries(ENDED_BY)) process.once(signal, () => process.exit(exitCode));
  return path;
}
