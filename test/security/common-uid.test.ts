import { chmod, chown, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDockerDriver } from '../../src/drivers/docker/index.ts';
import type { Hotcell, Session } from '../../src/index.ts';
import type { Host } from '../../src/sandbox/host.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

// Linux counts for a uid. The attack of neighbour:inotify, with the barrier (a uid for each container) and without it.
const skipped = await reasonToSkip(TARGETS.docker);

/** Of no account: the standard image does not know it either. */
const PERSON = { uid: 61_843, gid: 61_844 };

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

  it('is apart for sessions that read a folder of the host which is open to all', async () => {
    await chmod(folder, 0o755);
    const mounts = [{ source: folder, target: '/data', readOnly: true }];
    await using greedy = await hotcell.open({ mounts });
    await using neighbour = await hotcell.open({ mounts });
    expect(await printed(greedy, USE_UP)).not.toBe('1000');
    expect(await printed(neighbour, NEED)).toBe('True');
    expect(await printed(neighbour, 'import os; print(os.listdir("/data"))')).toBe('[]');
  });

  it('is common to sessions that write to a folder of the host, whose files the next one must go on with', async () => {
    await using server = await hotcellOf({ uid: 0, gid: 0 });
    const mounts = [{ source: folder, target: '/data', readOnly: false }];
    await using greedy = await server.open({ mounts });
    await using neighbour = await server.open({ mounts });
    expect(await printed(greedy, USE_UP)).toBe('1000');
    expect(await printed(neighbour, NEED)).toBe('False');
  });

  it.skipIf(process.getuid?.() !== 0)("is the person's own who runs Hotcell, and no other person's", async () => {
    await using server = await hotcellOf(PERSON);
    await chown(folder, PERSON.uid, PERSON.gid);
    await chmod(folder, 0o700);
    for (const readOnly of [false, true]) {
      await using session = await server.open({ mounts: [{ source: folder, target: '/data', readOnly }] });
      const code = `import getpass, os, pathlib, subprocess, tempfile
open("mine", "w").close(); tempfile.mkstemp()
try: open("/data/made", "w").close()
except OSError: print("refused")
print(os.getuid(), os.getgid(), getpass.getuser(), pathlib.Path.home(), os.listdir("/data"))
print(subprocess.run("whoami", capture_output=True).returncode)`;
      const said = `${PERSON.uid} ${PERSON.gid} sandbox /tmp ['made']\n1`;
      expect(await printed(session, code)).toBe(readOnly ? `refused\n${said}` : said);
      for (const language of ['bash', 'javascript']) {
        const { outcome, stdout } = await session.run(language === 'bash' ? 'echo 4' : 'console.log(4)', { language });
        expect([outcome.kind, stdout.trim()]).toEqual(['ok', '4']);
      }
    }
    expect(await stat(join(folder, 'made'))).toMatchObject(PERSON);
  });

  function hotcellOf(self: { uid: number; gid: number }): Promise<Hotcell> {
    const drivers = { docker: async (host: Host) => createDockerDriver(host, { self }) };
    return openTarget(TARGETS.docker, { drivers, mountRoots: [folder] });
  }
});
