import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hotcell, Session } from '../../src/index.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

// Linux counts for a uid. The attack of neighbour:inotify, with the barrier (a uid for each container) and without it.
const skipped = await reasonToSkip(TARGETS.docker);

const USE_UP = `import ctypes, os
libc = ctypes.CDLL(None)
while libc.inotify_init() >= 0: pass
print(os.getuid())`;
const NEED = 'import ctypes; print(ctypes.CDLL(None).inotify_init() >= 0)';

describe.skipIf(skipped !== undefined)('what the kernel counts for the uid of a container', () => {
  let hotcell: Hotcell;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hotcell-common-uid-'));
    hotcell = await openTarget(TARGETS.docker, { mountRoots: [folder] });
  });
  afterAll(async () => {
    await hotcell?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const printed = async (session: Session, code: string) => (await session.run(code)).stdout.trim();

  it('is apart for two sessions, who are both called sandbox', async () => {
    await using greedy = await hotcell.open();
    await using neighbour = await hotcell.open();
    const uid = await printed(greedy, USE_UP);
    expect(uid).not.toBe('1000');
    expect(await printed(neighbour, NEED)).toBe('True');
    const who = await printed(
      neighbour,
      'import os, pwd; print(pwd.getpwuid(os.getuid()).pw_name, os.getuid(), os.getgid())',
    );
    expect(who).toMatch(/^sandbox 6\d{4} 1000$/);
    expect(who).not.toContain(uid);
    expect(
      await printed(
        neighbour,
        'open("mine", "w").close(); os.makedirs("a/b"); print(os.stat(".").st_uid == os.getuid())',
      ),
    ).toBe('True');
  });

  it('is common to sessions with a folder of the host, whose files the next one must go on with', async () => {
    const mounts = [{ source: folder, target: '/data', readOnly: true }];
    await using greedy = await hotcell.open({ mounts });
    await using neighbour = await hotcell.open({ mounts });
    expect(await printed(greedy, USE_UP)).toBe('1000');
    expect(await printed(neighbour, NEED)).toBe('False');
  });
});
