import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import type { Hotcell } from '../../src/main.ts';
import { type CraftedImages, craftedImages, docker } from '../support/crafted-image.ts';
import { reasonToLeaveTo, strength } from '../support/strength.ts';
import { openTarget, TARGETS } from '../support/targets.ts';

/** An image, or a caller who picks the places of mounts in it, tries to decide what Hotcell decides. */
const targets = [
  { target: TARGETS.docker, runtime: 'runc' },
  { target: TARGETS.gvisor, runtime: 'runsc' },
];
const BARE = ['--network', 'none', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--user', '1000:1000'];
/** The group `adm` of Debian and others. */
const ADM = 4;

/** A plain run tries docker alone. Most of it is refused by the host, but not all: gVisor has it with --require-all. */
describe.each(targets)('$target.name: an image', async ({ target, runtime }) => {
  const skipped = await reasonToLeaveTo(TARGETS.docker, target);
  const run = (...args: string[]) => docker('run', '--rm', '--runtime', runtime, ...BARE, ...args);

  describe.skipIf(skipped !== undefined)('that is not the standard one', () => {
    let images: CraftedImages;
    let data: string;
    let hotcell: Hotcell;
    beforeAll(async () => {
      images = craftedImages();
      data = mkdtempSync(join(tmpdir(), 'hotcell-choices-'));
      chmodSync(data, 0o777);
      hotcell = await openTarget(target, { mountRoots: [data] });
    });
    afterAll(async () => {
      await hotcell?.close();
      images?.remove();
      rmSync(data, { recursive: true, force: true });
    });
    const open = (options: object) => openedOnce(hotcell, options);
    const mount = (place: string, source = data) => ({ source, target: place, readOnly: false });

    it('starts its own Python, whatever a caller mounts over it', async () => {
      const app = join(data, 'app');
      const out = join(data, 'out');
      for (const folder of [app, out, join(app, '.venv'), join(app, '.venv', 'bin')]) mkdirSync(folder);
      chmodSync(out, 0o777);
      const forged = '#!/bin/sh\ncp /bin/sh /out/s\nchmod 4755 /out/s\nexec /usr/bin/python3 "$@"\n';
      writeFileSync(join(app, '.venv', 'bin', 'python3'), forged, { mode: 0o755 });
      const image = images.build('venv', [
        'RUN mkdir -p /app/.venv/bin /srv/python && ln -s /srv/python/link /app/.venv/bin/python3',
        'RUN ln -s /usr/bin/python3 /srv/python/link',
        `ENV PATH=/app/.venv/bin:$PATH`,
      ]);
      run('--volume', `${app}:/app`, '--volume', `${out}:/out`, image, 'python3', '-c', '');
      expect(statSync(join(out, 's')).mode & 0o4000).toBe(0o4000);
      rmSync(join(out, 's'));

      const places = ['/app', '/app/.venv/bin', '/srv/python', '/app/.venv', '/app/.venv/lib', '/srv'];
      for (const place of places.slice(0, strength({ plain: 3, all: places.length }))) {
        const mounts = [mount(place, app), mount('/out', out)];
        await expect(open({ image, mounts }), place).rejects.toMatchObject({ code: 'mount_denied' });
      }
      expect(readdirSync(out)).toEqual([]);
      const said = await open({ image, mounts: [mount('/out', out), mount('/app/data', app)] });
      expect(said.uid).toBe(1000);
    });

    it('starts the interpreter of its own that a script leads to, whatever a caller mounts over it', async () => {
      const [forged, out] = [join(data, 'forged'), join(data, 'made')];
      for (const folder of [forged, join(forged, 'bin'), out]) mkdirSync(folder);
      chmodSync(out, 0o777);
      const program = '#!/bin/sh\ncp /bin/sh /out/s\nchmod 4755 /out/s\nexec /usr/bin/python3 "$@"\n';
      writeFileSync(join(forged, 'bin', 'python3'), program, { mode: 0o755 });
      // As pyenv and asdf lay it out: `python3` on PATH is a script.
      const pyenv = '/home/app/.pyenv';
      const image = images.build(
        'shim',
        [
          `RUN mkdir -p ${pyenv}/shims ${pyenv}/plugins ${pyenv}/versions/3/bin`,
          `RUN ln -s "$(readlink -f "$(command -v python3)")" ${pyenv}/versions/3/bin/python3`,
          `COPY shim ${pyenv}/shims/python3`,
          `ENV PATH=${pyenv}/shims:/usr/bin:/bin`,
        ],
        { shim: `#!/bin/sh\nexec ${pyenv}/versions/3/bin/python3 "$@"\n` },
      );
      run('--volume', `${forged}:${pyenv}/versions/3`, '--volume', `${out}:/out`, image, 'python3', '-c', '');
      expect(statSync(join(out, 's')).mode & 0o4000).toBe(0o4000);
      rmSync(join(out, 's'));

      const belows = ['', '/versions/3', '/plugins/new', '/new', '/versions', '/versions/3/lib', '/plugins'];
      for (const below of belows.slice(0, strength({ plain: 4, all: belows.length }))) {
        const mounts = [mount(pyenv + below, forged), mount('/out', out)];
        await expect(open({ image, mounts }), below).rejects.toMatchObject({ code: 'mount_denied' });
      }
      expect(readdirSync(out)).toEqual([]);
      expect((await open({ image, mounts: [mount('/out', out), mount('/data/x', forged)] })).uid).toBe(1000);
    });

    it('gets no mount where it has files, and takes one at an empty folder', async () => {
      const image = images.build('filled', [
        'RUN mkdir -p /srv/filled /srv/empty && cp -r /usr/lib/python3 /srv/filled',
      ]);
      for (const place of ['/srv', '/srv/filled']) {
        await expect(open({ image, mounts: [mount(place)] }), place).rejects.toMatchObject({
          code: 'mount_denied',
          message: expect.stringContaining('the image has files there'),
        });
      }
      expect((await open({ image, mounts: [mount('/srv/empty'), mount('/srv/absent')] })).uid).toBe(1000);
    });

    it('gets no group of the host by a name that is a number', async () => {
      const secret = join(data, 'for-adm');
      writeFileSync(secret, 'words');
      chownSync(secret, 0, ADM);
      chmodSync(secret, 0o640);
      const image = images.build('group', [`RUN sed -i '1i1000:x:${ADM}:' /etc/group`]);
      if (runtime === 'runc') expect(run('--volume', `${data}:/data`, image, 'cat', '/data/for-adm')).toBe('words');
      await expect(open({ image, mounts: [mount('/data')] })).rejects.toMatchObject({
        code: 'start_failed',
        message: expect.stringContaining('a name in /etc/group that is a number'),
      });
    });

    it('has no link at a place that something is mounted at, and leaves nothing behind', async () => {
      const image = images.build('links', ['RUN ln -s /proc/self /data && rmdir /workspace && ln -s /srv /workspace']);
      const proper = images.build('target-link', ['RUN ln -s /proc/self /data && touch /file']);
      const before = shims();
      for (let again = 0; again < strength({ plain: 1, all: 2 }); again += 1) {
        await expect(open({ image })).rejects.toMatchObject({
          code: 'start_failed',
          message: expect.stringContaining('a link at "/workspace"'),
        });
        for (const place of ['/data', '/data/below', '/file', '/file/below']) {
          await expect(open({ image: proper, mounts: [mount(place)] })).rejects.toMatchObject({ code: 'start_failed' });
        }
      }
      expect((await open({ image: proper })).uid).toBe(1000);
      await expect.poll(() => shims().filter((id) => !before.includes(id) && !isKnown(id))).toEqual([]);
    });

    it('makes no folder of its volumes in a folder that is mounted', async () => {
      const folder = join(data, 'plain');
      mkdirSync(folder, { mode: 0o777 });
      const image = images.build('volumes', ['VOLUME /data/deep']);
      await expect(open({ image, mounts: [mount('/data', folder)] })).rejects.toMatchObject({
        code: 'mount_denied',
        message: expect.stringContaining('a volume below it'),
      });
      expect(readdirSync(folder)).toEqual([]);
    });

    it('has folders as they were mounted, also those that it only reads', async () => {
      const folder = join(data, 'kept');
      mkdirSync(folder, { mode: 0o777 });
      chmodSync(folder, 0o777);
      writeFileSync(join(folder, 'file'), 'words');
      chmodSync(join(folder, 'file'), 0o666);
      const image = images.build('plain', []);
      const mounts = [{ ...mount('/read', folder), readOnly: true }, mount('/write', folder)];
      await using session = await hotcell.open({ image, mounts });
      const { stdout } = await session.run(`import errno
print(open("/read/file").read())
for path in "/read/file", "/read/new", "/write/new":
    try: open(path, "w").close(); print("written")
    except OSError as error: print(errno.errorcode[error.errno])`);
      expect(stdout.trim().split('\n')).toEqual(['words', 'EROFS', 'EROFS', 'written']);
      expect(readdirSync(folder)).toEqual(['file', 'new']);
    });

    it('sets no variable, and no label, of its container', async () => {
      const image = images.build('words', ['ENV NVIDIA_VISIBLE_DEVICES=all LD_DEBUG=help', 'LABEL schedule=all']);
      const { environment, labels } = await open({ image });
      expect(environment).toContain('NVIDIA_VISIBLE_DEVICES=void');
      expect(environment.join(' ')).not.toContain('LD_DEBUG=');
      expect(labels.schedule).toBe('');
    });
  });

  it.skipIf(skipped !== undefined)("knows no name server of the host's", async () => {
    await using hotcell = await openTarget(target);
    await using session = await hotcell.open();
    const { stdout } = await session.run('print(open("/etc/resolv.conf").read())');
    const lines = stdout.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
    expect(lines.filter((line) => !line.startsWith('options '))).toEqual(['nameserver 127.0.0.1']);
  });
});

/** Opens a session and closes it, and tells what it was. */
async function openedOnce(hotcell: Hotcell, options: object) {
  const owner = newId('owner');
  await using session = await hotcell.open({ owner, ...options });
  const { stdout } = await session.run('import os; print(os.getuid())');
  const made = docker('ps', '--quiet', '--filter', `label=dev.hotcell.owner=${owner}`);
  const [found] = JSON.parse(docker('inspect', made)) as { Config: ContainerFacts }[];
  return { uid: Number(stdout), environment: found?.Config.Env ?? [], labels: found?.Config.Labels ?? {} };
}

interface ContainerFacts {
  readonly Env: string[];
  readonly Labels: Record<string, string>;
}

/** The containers that the engine has a process for. */
function shims(): string[] {
  const commands = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
  return [...commands.matchAll(/containerd-shim\S* .*-id ([0-9a-f]{64})/g)].map(([, id]) => id ?? '');
}

function isKnown(id: string): boolean {
  try {
    docker('inspect', id);
    return true;
  } catch {
    return false;
  }
}
