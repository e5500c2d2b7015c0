import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Session } from '../../src/main.ts';
import { isRoot } from '../support/host-listeners.ts';
import { openTarget, reasonToSkip, TARGETS, type Target } from '../support/targets.ts';

/** A folder is mounted read-only, and the host mounts something below it later: a disk that is plugged in, or a folder of a network. */
const run = promisify(execFile);
const WRITE = `import os
try:
    os.mkdir("/data/sub/new")
    print("written")
except OSError as error: print(error.strerror)`;

let folder: string;

beforeEach(async (context) => {
  if (!isRoot()) context.skip('only root can mount');
  folder = await realpath(await mkdtemp(join(tmpdir(), 'hotcell-later-')));
  await run('mount', ['-t', 'tmpfs', '-o', 'mode=755', 'hotcell-test', folder]);
  await run('mount', ['--make-shared', folder]);
  await mkdir(join(folder, 'data/sub'), { recursive: true });
  await chmod(join(folder, 'data/sub'), 0o777);
});

afterEach(async () => {
  if (!isRoot()) return;
  await run('umount', ['--recursive', folder]);
  await rm(folder, { recursive: true });
});

const targets: readonly Target[] = [TARGETS.shared, TARGETS.soft, TARGETS.docker, TARGETS.gvisor];

describe.each(targets)('$name: what the host mounts below a folder that is mounted read-only', async (target) => {
  it.skipIf((await reasonToSkip(target)) !== undefined)(
    'does not come into sessions, nor into later ones of the same jail',
    async () => {
      expect(await written(target, { withLater: target.slow !== true })).toEqual(new Set(['Read-only file system']));
    },
  );
});

describe(`${TARGETS.single.name}: what the host mounts below a folder that is mounted read-only`, async () => {
  it.skipIf((await reasonToSkip(TARGETS.single)) !== undefined)(
    'comes in, as the threat model says: that is the attack',
    async () => {
      expect(await written(TARGETS.single, { withLater: false })).toContain('written');
    },
  );
});

/** What sessions hear that write there. A new container gets what is there when it is made, so later ones are none of this. */
async function written(target: Target, { withLater }: { withLater: boolean }): Promise<Set<string>> {
  await using hotcell = await openTarget(target, { mountRoots: [folder] });
  const open = () => hotcell.open({ mounts: [{ source: join(folder, 'data'), target: '/data' }] });
  const heard = async (session: Session) => (await session.run(WRITE)).stdout.trim();
  await using before = await open();
  const first = await heard(before);
  await run('mount', ['-t', 'tmpfs', '-o', 'mode=777', 'hotcell-test', join(folder, 'data/sub')]);
  const answers = new Set([first, await heard(before)]);
  if (!withLater) return answers;
  await using later = await open();
  return answers.add(await heard(later));
}
