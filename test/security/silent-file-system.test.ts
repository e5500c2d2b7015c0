import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, stat, symlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createHostFiles } from '../../src/mcp/host-files/index.ts';
import { mountPolicy, resolveMounts } from '../../src/sessions/mounts.ts';
import { secretsOfHomes } from '../../src/sessions/secret-homes.ts';
import { nextLine, STRANGER } from '../support/other-user.ts';

const canMount = process.getuid?.() === 0 && existsSync('/dev/fuse');
const program = join(import.meta.dirname, '../support/foreign_files.py');
/** How long the file system answers nothing; a server that waits for it takes as long. */
const SILENT_SECONDS = 8;
const SOON_MS = 4_000;

/** Another user mounts a file system in their home that never answers. A server of root keeps sandboxes from the keys in that home. */
describe.skipIf(!canMount)('a file system of another user that never answers', () => {
  let folder: string;
  let mounted: ChildProcess | undefined;
  const home = () => join(folder, 'home');
  const project = () => join(folder, 'project');

  beforeEach(() => {
    folder = mkdtempSync(join(homedir(), '.hotcell-silent-')); // not in /tmp, which is for everybody
    for (const path of [home(), project(), join(home(), '.config')]) mkdirSync(path);
    for (const path of [home(), join(home(), '.config')]) chownSync(path, STRANGER, STRANGER);
    chmodSync(folder, 0o755);
  });
  afterEach(async () => {
    mounted?.stdin?.end();
    if (mounted?.exitCode === null) await once(mounted, 'exit');
    mounted = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  async function mountSilent(at: string, { user = STRANGER, seconds = SILENT_SECONDS } = {}): Promise<void> {
    mounted = spawn('python3', ['-I', program, at, String(user), String(seconds)]);
    expect(await nextLine(mounted)).toBe('mounted');
  }

  function policy() {
    const homes = [true, false].map((isPerson) => ({ path: home(), isPerson }));
    return mountPolicy({ roots: [folder], denied: secretsOfHomes(homes) });
  }

  async function judgedBy(judge: ReturnType<typeof policy>): Promise<void> {
    const { folders } = await resolveMounts([{ source: project(), target: '/p' }], judge);
    for (const held of folders) await held.close();
    for (const source of [folder, home(), join(home(), '.config/gcloud'), join(home(), '.config/other')]) {
      const mount = resolveMounts([{ source, target: '/p' }], judge);
      await expect(mount, source).rejects.toMatchObject({ code: 'mount_denied' });
    }
  }

  it('stops a program that looks into it', async () => {
    await mountSilent(join(home(), '.config'), { seconds: 3 }); // which is waited for
    const looking = spawnSync('stat', [join(home(), '.config/gcloud')], { timeout: 1_000, killSignal: 'SIGKILL' });
    expect(looking.signal).toBe('SIGKILL');
  });

  it.each(['.config', '.'])('mounted at %s, stops no server that starts, and keeps nobody from a mount', async (at) => {
    await mountSilent(join(home(), at));
    const begin = performance.now();
    await judgedBy(policy());
    expect(performance.now() - begin).toBeLessThan(SOON_MS);
  });

  it.each(['.config', '.'])('mounted at %s, stops no server that has started', async (at) => {
    const started = policy();
    await mountSilent(join(home(), at));
    const begin = performance.now();
    await judgedBy(started);
    expect(performance.now() - begin).toBeLessThan(SOON_MS);
  });

  it('below a folder that load_file copies, is left out', async () => {
    const options = { roots: [folder], denied: [], base: folder, writable: [], homesOfOthers: () => [] };
    const files = createHostFiles(options);
    writeFileSync(join(project(), 'a.csv'), '1');
    await mountSilent(join(home(), '.config'));
    await symlink(join(home(), '.config'), join(project(), 'link'));
    const begin = performance.now();
    expect((await files.find(folder)).files.map(({ name }) => name)).toEqual(['project/a.csv']);
    for (const source of [join(home(), '.config/x'), join(home(), '.config'), join(project(), 'link/x')])
      await expect(files.find(source)).rejects.toMatchObject({ code: 'host_path_denied' });
    expect(performance.now() - begin).toBeLessThan(SOON_MS);
  });

  describe('that the check of mounts does not recognise, as if it were mounted right after it', () => {
    /** Whether other file access of this process is answered while the lookups hang. */
    const isAnswered = () => Promise.race([readFile(import.meta.filename).then(() => true), setTimeout(1_000, false)]);
    const inside = () => join(home(), '.config/x');
    beforeEach(() => mountSilent(join(home(), '.config'), { user: 0 }));

    it('stops all file access of a process that looks it up at will', async () => {
      const lookups = Array.from({ length: 8 }, () => stat(inside()).catch(() => {}));
      expect(await isAnswered()).toBe(false);
      await Promise.all(lookups);
    });

    it('stops only the callers that name paths', async () => {
      const judge = mountPolicy({ roots: [folder], denied: [] });
      const files = createHostFiles({
        roots: [folder],
        denied: [],
        base: folder,
        writable: [],
        homesOfOthers: () => [],
      });
      const calls = Array.from({ length: 8 }, (_, index) => [
        resolveMounts([{ source: inside(), target: '/p' }], judge, `owner ${index}`),
        files.find(inside(), { owner: `owner ${index}` }),
      ]).flat();
      const outcomes = Promise.allSettled(calls);
      expect(await isAnswered()).toBe(true);
      expect((await outcomes).map(({ status }) => status)).not.toContain('fulfilled');
    });
  });
});
