import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deferred } from '../../src/lib/deferred.ts';
import { type Hotcell, openHotcell } from '../../src/main.ts';
import type { Driver } from '../../src/sandbox/driver.ts';
import type { Host } from '../../src/sandbox/host.ts';
import { isRoot } from '../support/host-listeners.ts';
import { until } from '../support/host-processes.ts';
import { reasonToLeaveTo } from '../support/strength.ts';
import { driverFactory, openTarget, reasonToSkip, TARGETS, type Target } from '../support/targets.ts';

/**
 * The host changes what is mounted below a folder while a sandbox that was created ahead, or a zygote, has the former
 * file systems: the volume of the job before, another owner's.
 */
const run = promisify(execFile);
let folder: string;
let volume: string;

beforeEach(async (context) => {
  if (!isRoot()) context.skip('only root can mount');
  folder = await realpath(await mkdtemp(join(tmpdir(), 'hotcell-test-tree-')));
  volume = join(folder, 'vol');
  await mkdir(volume);
  await chmod(folder, 0o777);
});

afterEach(async () => {
  if (!isRoot()) return;
  await run('umount', ['--recursive', '--lazy', volume]).catch(() => {});
  await run('umount', ['--recursive', '--lazy', folder]).catch(() => {});
  await rm(folder, { recursive: true });
});

const targets: readonly Target[] = [TARGETS.shared, TARGETS.docker, TARGETS.gvisor];

describe.each(targets)('$name: a sandbox that was created before the host changed its mounts', async (target) => {
  // Both kinds of containers are made ahead by the same pool.
  const reason = target === TARGETS.gvisor ? await reasonToLeaveTo(TARGETS.docker, target) : await reasonToSkip(target);
  const skip = reason !== undefined;

  it.skipIf(skip)('is not used for a session with another volume', async () => {
    await using hotcell = await openTarget(target, { mountRoots: [folder], poolSize: 1 });
    await mountVolume('A');
    const code = "print(open('/job/vol/data.txt').read()); open('/job/vol/result', 'w').close()";
    expect(await answer(hotcell, code)).toBe('A');
    await hotcell.settled();
    await run('umount', ['--lazy', volume]);
    await mountVolume('B');
    expect(await answer(hotcell, code)).toBe('B');
    expect(await readdir(volume)).toContain('result');
  });

  it.skipIf(skip)('is not used to write to a folder that is read-only by now', async () => {
    await using hotcell = await openTarget(target, { mountRoots: [folder], poolSize: 1 });
    const code = `try:
    open('/job/new', 'w').close()
    print('written')
except OSError as error: print(error.strerror)`;
    expect(await answer(hotcell, code)).toBe('written');
    await hotcell.settled();
    await run('mount', ['--bind', folder, folder]);
    await run('mount', ['-o', 'remount,bind,ro', folder]);
    expect(await answer(hotcell, code)).not.toBe('written');
  });
});

describe.each([TARGETS.docker, TARGETS.gvisor])(
  '$name: a sandbox that is created ahead while the host has a volume mounted for a moment',
  async (target) => {
    const skip = (await reasonToSkip(target)) !== undefined;

    it.skipIf(skip).each(['ready', 'claimed'])('is not used for a later session (%s)', async (how) => {
      const make = driverFactory(target);
      const isolation = target.options.isolation as 'docker';
      let [isAwaited, isOver] = [false, false];
      const [begun, ended] = [deferred<void>(), deferred<void>()];
      const drivers = {
        [isolation]: async (host: Host) => {
          const driver = await make(host);
          const create: Driver['create'] = async (spec, options) => {
            if (!isAwaited) return driver.create(spec, options);
            isAwaited = false;
            await begun.promise;
            await mountVolume('of a job that ended');
            const sandbox = await driver.create(spec, options);
            await run('umount', ['--lazy', volume]);
            isOver = true;
            if (how === 'claimed') await ended.promise;
            return sandbox;
          };
          return { ...driver, create };
        },
      };
      await using hotcell = await openHotcell({
        ...{ isolation, drivers, mountRoots: [folder], poolSize: 1, preloads: [], recipes: [] },
      });
      const code = 'import os; print(os.listdir("/job/vol"))';
      try {
        expect(await answer(hotcell, code)).toBe('[]');
        await hotcell.settled();
        // The next session claims what is there, so what is created from now on is made ahead.
        isAwaited = true;
        expect(await answer(hotcell, code)).toBe('[]');
        begun.resolve();
        await until(() => isOver, 'one was being made ahead with the volume', 60_000);
        if (how === 'ready') await hotcell.settled();
        const answering = answer(hotcell, code);
        ended.resolve();
        expect(await answering).toBe('[]');
      } finally {
        for (const one of [begun, ended]) one.resolve(); // otherwise it could not be closed
      }
    });
  },
);

async function mountVolume(of: string): Promise<void> {
  await run('mount', ['-t', 'tmpfs', '-o', 'mode=777', 'hotcell-test', volume]);
  await writeFile(join(volume, 'data.txt'), of);
}

async function answer(hotcell: Hotcell, code: string): Promise<string> {
  await using session = await hotcell.open({ mounts: [{ source: folder, target: '/job', readOnly: false }] });
  return (await session.run(code)).stdout.trim();
}
