import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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

  async function mountSilent(at: string): Promise<void> {
    mounted = spawn('python3', ['-I', program, at, String(STRANGER), String(SILENT_SECONDS)]);
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
    await mountSilent(join(home(), '.config'));
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
});
