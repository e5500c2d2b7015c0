import { toHotcellError } from '../../errors/hotcell-error.ts';
import { findProgram } from '../../lib/find-program.ts';
import { newId } from '../../lib/ids.ts';
import type { Driver, Probe } from '../../sandbox/driver.ts';
import { DEFAULT_LIMITS } from '../../sandbox/spec.ts';
import { epollWatches } from '../epoll-notes.ts';
import type { CgroupFinding } from './find-cgroup-tree.ts';
import { processNotes } from './process-notes.ts';

/**
 * Creates a real sandbox and disposes of it. That `bwrap` is installed proves nothing: stock Ubuntu and default Docker
 * refuse its user namespace.
 */
export async function probeProcess(
  driver: Pick<Driver, 'create'>,
  cgroups: () => CgroupFinding,
  options: { signal?: AbortSignal },
): Promise<Probe> {
  const unavailable = (reason: string, remedy: string): Probe => ({
    driver: 'process',
    available: false,
    reason,
    remedy,
  });
  if (process.platform !== 'linux') {
    return unavailable(
      `the process driver needs Linux, and this is ${process.platform}`,
      'Run `hotcell setup docker`.',
    );
  }
  if (findProgram('bwrap') === undefined) {
    return unavailable(
      'bubblewrap (bwrap) is not installed',
      'Run `hotcell setup process`, or: sudo apt-get install -y bubblewrap',
    );
  }
  try {
    const sandbox = await driver.create(
      { id: newId('probe'), owner: 'probe', limits: DEFAULT_LIMITS, mounts: [], preloads: [], environment: {} },
      options,
    );
    await sandbox.dispose();
    const finding = cgroups();
    const shape = sandbox.isolation.shape === 'single' ? 'single' : 'shared';
    const notes = [
      ...('tree' in finding ? [] : [`Limits are softer: ${finding.reason}. ${finding.remedy}`]),
      ...processNotes({ shape, isRoot: process.getuid?.() === 0, epollWatches: epollWatches() }),
    ];
    return { driver: 'process', available: true, isolation: sandbox.isolation, notes };
  } catch (thrown) {
    const error = toHotcellError(thrown);
    return unavailable(error.message, error.remedy ?? 'Run `hotcell setup process`.');
  }
}
