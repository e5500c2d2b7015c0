import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Hotcell } from '../../../src/index.ts';
import type { MountRequest } from '../../../src/sessions/mounts.ts';
import { openTarget, TARGET_NAMES, type Target, type TargetName } from '../../support/targets.ts';
import { type Requirement, stdoutOf } from '../context.ts';

const { errno } = constants;
const BARE = { bare: 'mounts are the work of a driver' };

/** What is mounted is what was asked for and checked, at its place, and nothing else. The race against it is `test/security/mount-exchange.test.ts`. */
export const mountRequirements: readonly Requirement[] = [
  {
    id: 'mounts:targets',
    tag: 'driver',
    title:
      'two sessions have one folder at places of their own, each with nothing of the other and nothing more to write to',
    exempt: BARE,
    prove: ({ target }) =>
      withFolders(target, async ({ hotcell, folder }) => {
        const all = ['/data', '/deep/er/still', '/srv/x', '/mnt/data', '/workspace/in', '/tmp/in', '/home/me/x'];
        const source = await folder('shared', 'file');
        const inner = await folder('inner', 'inner-file');
        const [one, other] = await Promise.all(
          [all, ['/elsewhere']].map((targets) =>
            hotcell.open({ mounts: targets.map((place) => ({ source, target: place })) }),
          ),
        );
        const places = `import os\nprint([place for place in ${JSON.stringify([...all, '/elsewhere'])} if os.path.exists(place + "/file")])`;
        expect(await stdoutOf(one!, places)).toBe(pythonList(all));
        expect(await stdoutOf(other!, places)).toBe(pythonList(['/elsewhere']));
        const writing = `def made(path):
    try: os.mkdir(path)
    except OSError: return False
    return True
print([path for path in ("/new", "/deep/new", "/deep/er/new", "/mnt/new", "/run/new", "/data/new") if made(path)])
print(os.path.exists("/mnt/hotcell") and os.access("/mnt/hotcell", os.R_OK), os.path.exists("/run/hotcell/control"))`;
        expect(await stdoutOf(one!, writing)).toBe('[]\nFalse False');
        await mkdir(join(source, 'nested'));
        await using nested = await hotcell.open({
          mounts: [
            { source: inner, target: '/outer/nested' },
            { source, target: '/outer' },
          ],
        });
        expect(await stdoutOf(nested, 'import os; print(os.listdir("/outer/nested"))')).toBe("['inner-file']");
      }),
  },
  {
    id: 'mounts:reserved',
    tag: 'driver',
    title: 'no mount covers the folders of Hotcell or of the interpreter, nor stands above them',
    exempt: BARE,
    prove: ({ target }) =>
      withFolders(target, async ({ hotcell, folder }) => {
        const source = await folder('shared', 'file');
        await using session = await hotcell.open();
        const prefixes = (await stdoutOf(session, 'import sys; print(sys.prefix, sys.base_prefix)')).split(' ');
        const above = prefixes.map((prefix) => `/${prefix.split('/')[1]}`);
        for (const place of [
          ...prefixes,
          ...above,
          '/mnt',
          '/mnt/hotcell',
          '/run/hotcell',
          '/opt/hotcell/guest',
          '/opt/hotcell/layers',
          '/node_modules',
        ]) {
          await denied(hotcell, { source, target: place });
        }
      }),
  },
  {
    id: 'mounts:links',
    tag: 'driver',
    title: 'a link in a mounted folder decides neither where another is mounted nor what is',
    exempt: BARE,
    prove: ({ target }) =>
      withFolders(target, async ({ hotcell, folder }) => {
        const planted = await folder('planted', 'file');
        const source = await folder('shared', 'file');
        for (const [name, to] of [
          ['up', '/'],
          ['control', '/run/hotcell'],
          ['mounts', '/mnt/hotcell'],
          ['etc', '/etc'],
        ] as const) {
          await symlink(to, join(planted, name));
          await denied(hotcell, { source: planted, target: '/p' }, { source, target: `/p/${name}` });
          await denied(
            hotcell,
            { source: planted, target: '/p', readOnly: false },
            { source, target: `/p/${name}/new` },
          );
        }
        expect((await readdir(planted)).sort()).toEqual(['control', 'etc', 'file', 'mounts', 'up']);
      }),
  },
  {
    id: 'mounts:replaced',
    tag: 'driver',
    title: 'a session has the folder that is there when it opens, whatever earlier ones had',
    exempt: BARE,
    prove: ({ target }) =>
      withFolders(target, async ({ hotcell, folder }) => {
        const source = await folder('data', 'first');
        const seen = async () => {
          await using session = await hotcell.open({ mounts: [{ source, target: '/data' }] });
          return await stdoutOf(session, 'import os; print(*os.listdir("/data"))');
        };
        expect(await seen()).toBe('first');
        await rename(source, `${source}-away`);
        await folder('data', 'second');
        expect(await seen()).toBe('second');
      }),
  },
  {
    id: 'mounts:below-writable',
    tag: 'driver',
    title: 'what lies below a folder that a live session can write to is mounted into no other, of any server',
    exempt: BARE,
    prove: ({ target }) =>
      withFolders(target, async ({ hotcell, folder, root }) => {
        const project = await folder('project', 'file');
        const sub = await folder('project/sub', 'file');
        await using beside = await openTarget(target, { mountRoots: [root] });
        const writer = await hotcell.open({ mounts: [{ source: project, target: '/data', readOnly: false }] });
        for (const server of [hotcell, beside]) {
          await denied(server, { source: sub, target: '/data' });
          await using same = await server.open({ mounts: [{ source: project, target: '/data' }] });
          expect(await stdoutOf(same, 'import os; print(*sorted(os.listdir("/data")))')).toBe('file sub');
        }
        await writer.close();
        await using reader = await beside.open({ mounts: [{ source: sub, target: '/data' }] });
        await denied(hotcell, { source: project, target: '/data', readOnly: false });
        await reader.close();
      }),
  },
  {
    id: 'mounts:handed-on',
    tag: 'driver',
    title:
      'a folder that a closed session handed to one which could only read is not mounted from, while that one lives',
    exempt: { ...BARE, gvisor: 'it passes no descriptors between sandboxes' },
    prove: ({ target }) =>
      withFolders(target, async ({ hotcell, folder, root }) => {
        const common = await folder('common', 'file');
        const given = await folder('given', 'file');
        const inner = await folder('given/inner', 'file');
        const giver = await hotcell.open({
          mounts: [
            { source: common, target: '/common', readOnly: false },
            { source: given, target: '/given', readOnly: false },
          ],
        });
        const give = `import os, socket, threading
listener = socket.socket(socket.AF_UNIX); listener.bind("/common/socket"); os.chmod("/common/socket", 0o777); listener.listen()
def answer():
    while True: socket.send_fds(listener.accept()[0], [b"x"], [os.open("/given", os.O_RDONLY)])
threading.Thread(target=answer, daemon=True).start()`;
        await stdoutOf(giver, give);
        const take = `import glob, os, socket
near = socket.socket(socket.AF_UNIX); near.connect(*glob.glob("/read/socket") + glob.glob("/read/common/socket"))
taken = socket.recv_fds(near, 1, 1)[1][0]
print(sorted(os.listdir(taken)))`;
        const readers = await Promise.all(
          [common, root].map((source) => hotcell.open({ mounts: [{ source, target: '/read' }] })),
        );
        for (const reader of readers) expect(await stdoutOf(reader, take)).toBe("['file', 'inner']");
        await giver.close();
        for (const reader of readers) {
          await denied(hotcell, { source: inner, target: '/data' });
          // The attack: it would exchange the folder that another session mounts.
          const exchange =
            'os.rename("inner", "was", src_dir_fd=taken, dst_dir_fd=taken); os.rename("was", "inner", src_dir_fd=taken, dst_dir_fd=taken)';
          await stdoutOf(reader, exchange);
          await reader.close();
        }
        await using later = await hotcell.open({ mounts: [{ source: inner, target: '/data' }] });
        expect(await stdoutOf(later, 'import os; print(*os.listdir("/data"))')).toBe('file');
      }),
  },
  {
    id: 'mounts:file-systems-below',
    tag: 'driver',
    title: 'a read-only mount stays read-only where another file system is mounted below it on the host',
    exempt: { ...BARE, ...(process.getuid?.() === 0 ? {} : only('root can mount a file system on the host')) },
    prove: ({ target }) =>
      withFolders(target, async ({ hotcell, folder }) => {
        const source = await folder('project', 'file');
        const below = join(source, 'below');
        await mkdir(below);
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=0777', 'hotcell-test', below]);
        try {
          const write = `try: open("/data/below/made", "w").close()
except OSError as error: print(error.errno)
else: print("written")`;
          const writing = async (readOnly: boolean) => {
            await using session = await hotcell.open({ mounts: [{ source, target: '/data', readOnly }] });
            return await stdoutOf(session, write);
          };
          expect([`${errno.EROFS}`, `${errno.EACCES}`]).toContain(await writing(true));
          expect(await readdir(below)).toEqual([]);
          // Without the barrier: a writable mount shows what is mounted below it on the host.
          expect(await writing(false)).toBe('written');
          expect(await readdir(below)).toEqual(['made']);
        } finally {
          execFileSync('umount', [below]);
        }
      }),
  },
];

interface Folders {
  readonly hotcell: Hotcell;
  readonly root: string;
  /** Makes a folder below the root that may be mounted, with an empty file in it. */
  folder(name: string, file: string): Promise<string>;
}

/** A Hotcell of the target that may mount from a folder of its own, which is removed afterwards. */
export async function withFolders(target: Target, prove: (folders: Folders) => Promise<void>): Promise<void> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'hotcell-mounts-')));
  try {
    await chmod(root, 0o777);
    await using hotcell = await openTarget(target, { mountRoots: [root] });
    const folder = async (name: string, file: string) => {
      const path = join(root, name);
      await mkdir(path);
      await chmod(path, 0o777);
      await writeFile(join(path, file), '');
      return path;
    };
    await prove({ hotcell, root, folder });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function denied(hotcell: Hotcell, ...mounts: MountRequest[]): Promise<void> {
  await expect(hotcell.open({ mounts }), JSON.stringify(mounts)).rejects.toMatchObject({ code: 'mount_denied' });
}

function only(reason: string): Partial<Record<TargetName, string>> {
  return Object.fromEntries(TARGET_NAMES.map((name) => [name, reason]));
}

function pythonList(values: readonly string[]): string {
  return `[${values.map((value) => `'${value}'`).join(', ')}]`;
}
