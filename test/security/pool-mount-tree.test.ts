import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Hotcell } from '../../src/main.ts';
import { isRoot } from '../support/host-listeners.ts';
import { reasonToLeaveTo } from '../support/strength.ts';
import { openTarget, reasonToSkip, TARGETS, type Target } from '../support/targets.ts';

/**
 * The host changes what is mounted below a folder while a sandbox that was created ahead, or a zygote, has the former
 * file systems: the volume of the job before, another owner's.
 */
const run = promisify(execFile);
let folder: string;
let volume: string;

beforeEach(async (context) => {
  if (!isRoot()) context.skip('only root can mount');
  folder = await realpath(await mkdtemp(join(tmpdir(), 'hotcell-tree-')));
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

async function mountVolume(of: string): Promise<void> {
  await run('mount', ['-t', 'tmpfs', '-o', 'mode=777', 'hotcell-test', volume]);
  await writeFile(join(volume, 'data.txt'), of);
}

async function answer(hotcell: Hotcell, code: string): Promise<string> {
  await using session = await hotcell.open({ mounts: [{ source: folder, target: '/job', readOnly: false }] });
  return (await session.run(code)).stdout.trim();
}
