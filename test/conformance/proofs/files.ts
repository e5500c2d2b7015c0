import { expect } from 'vitest';
import type { Requirement } from '../context.ts';

export const fileRequirements: readonly Requirement[] = [
  {
    id: 'files:round-trip',
    tag: 'driver',
    title: 'bytes go in and out unchanged, in folders that did not exist, and are no artifacts',
    prove: async ({ session }) => {
      const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256));
      expect(await session.files.write('new/deep/data.bin', bytes)).toEqual({ sizeBytes: 70_000 });
      expect(await session.files.read('new/deep/data.bin')).toEqual(bytes);
      const result = await session.run('print(len(open("new/deep/data.bin", "rb").read()))');
      expect([result.stdout, result.artifacts]).toEqual(['70000\n', []]);
      const { entries } = await session.files.list('new', { recursive: true });
      expect(entries.map(({ path, kind }) => [path, kind])).toEqual([
        ['new/deep', 'folder'],
        ['new/deep/data.bin', 'file'],
      ]);
      await session.files.remove('new', { recursive: true });
      await expect(session.files.read('new/deep/data.bin')).rejects.toMatchObject({ code: 'file_not_found' });
    },
  },
  {
    id: 'files:elsewhere',
    tag: 'driver',
    title: 'the workspace is at another path where the spec says so, whole: working folder, files, artifacts',
    exempt: { bare: 'it has a folder of the host for its workspace' },
    prove: async ({ fresh }) => {
      const session = await fresh({ workspace: '/mnt/data', tmpBytes: 8 * 1_048_576 });
      await session.files.write('/mnt/data/in/a.txt', 'one');
      const code = `
import os
print(os.getcwd(), os.path.realpath('/mnt/data/in/a.txt'), open('/mnt/data/in/a.txt').read())
print(os.statvfs('/tmp').f_blocks * os.statvfs('/tmp').f_frsize)
open('/mnt/data/out.txt', 'w').write('two')`;
      const result = await session.run(code);
      expect(result.stdout).toBe('/mnt/data /mnt/data/in/a.txt one\n8388608\n');
      expect(result.artifacts.map(({ path }) => path)).toEqual(['out.txt']);
      expect(String(await session.files.read('out.txt'))).toBe('two');
      await expect(session.files.read('/workspace/out.txt')).rejects.toMatchObject({ code: 'bad_path' });
      await session.reset();
      expect((await session.run('import os; print(os.getcwd())')).stdout).toBe('/mnt/data\n');
    },
  },
  {
    id: 'files:modes',
    tag: 'guest',
    title: 'create refuses an existing file, append appends, replace replaces whole',
    prove: async ({ session }) => {
      await session.files.write('m.txt', 'one');
      await expect(session.files.write('m.txt', 'x', { mode: 'create' })).rejects.toMatchObject({
        code: 'file_exists',
      });
      await session.files.write('m.txt', ' two', { mode: 'append' });
      expect(String(await session.files.read('m.txt'))).toBe('one two');
      await session.files.write('m.txt', 'three');
      expect(String(await session.files.read('m.txt'))).toBe('three');
    },
  },
  {
    id: 'files:closed-workspace',
    tag: 'guest',
    title: 'a program that takes away its own access to the workspace loses nothing else, and can take it back',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const folder = (await session.run('import os; print(os.getcwd())')).stdout.trim();
      // Older than the second within which a look at the workspace is taken again anyway.
      const close =
        'import os, time\nopen("kept.txt", "w").write("1")\nx = 1\nos.chmod(os.getcwd(), 0)\ntime.sleep(1.2)';
      expect(await session.run(close)).toMatchObject({ outcome: { kind: 'ok' }, state: 'kept', files: 'kept' });
      const open = await session.run('os.chmod(os.getcwd(), 0o755)\nprint(x, open("kept.txt").read())');
      expect([open.stdout, open.restarted]).toEqual(['1 1\n', undefined]);
      // A new kernel has to stand somewhere, too.
      await session.run('os.chmod(os.getcwd(), 0)\nos._exit(0)');
      const again = await session.run(`import os\nos.chmod(${JSON.stringify(folder)}, 0o755)`);
      expect(again).toMatchObject({ outcome: { kind: 'ok' }, files: 'kept' });
      expect(String(await session.files.read('kept.txt'))).toBe('1');
      await session.reset();
      const { artifacts } = await session.run('open("new.txt", "w").write("2")');
      expect(artifacts.map(({ path }) => path)).toEqual(['new.txt']);
    },
  },
  {
    id: 'files:large',
    tag: 'driver',
    title: 'a large file streams in and out in pieces',
    prove: async ({ session }) => {
      async function* pieces() {
        for (let index = 0; index < 40; index += 1) yield Buffer.alloc(524_288, index);
      }
      expect(await session.files.write('large.bin', pieces())).toEqual({ sizeBytes: 20_971_520 });
      let size = 0;
      for await (const piece of session.files.stream('large.bin')) size += piece.length;
      expect(size).toBe(20_971_520);
      let range = 0;
      for await (const piece of session.files.stream('large.bin', { offset: 524_287, length: 2 })) range += piece[0]!;
      expect(range).toBe(0);
      await expect(session.files.read('large.bin', { limitBytes: 1000 })).rejects.toMatchObject({
        code: 'file_too_large',
      });
      await session.files.remove('large.bin');
    },
  },
  {
    id: 'files:paths',
    tag: 'guest',
    title: 'no path leads out of the workspace',
    prove: async ({ session }) => {
      const outside = [
        '../x',
        'a/../../x',
        '/etc/passwd',
        '/workspace-evil/x',
        '/workspace/../etc/passwd',
        'a\0b',
        'a\ud800b',
        'x/'.repeat(3000),
        '',
      ];
      for (const path of outside) {
        await expect(session.files.read(path), path).rejects.toMatchObject({ code: 'bad_path' });
        await expect(session.files.write(path, 'x'), path).rejects.toMatchObject({ code: 'bad_path' });
      }
    },
  },
  {
    id: 'files:links',
    tag: 'guest',
    title: 'links, FIFOs, sockets and devices are refused on read, write and list, without a hang',
    prove: async ({ session }) => {
      const made = await session.run(
        `import os, socket
os.makedirs("links", exist_ok=True)
for name, target in (("leaf", "/etc/passwd"), ("folder", "/etc"), ("self", "links")):
    if not os.path.lexists(f"links/{name}"): os.symlink(target, f"links/{name}")
os.mkfifo("links/fifo")
s = socket.socket(socket.AF_UNIX); s.bind("links/sock")
os.symlink("/dev/zero", "links/zero")`,
      );
      expect(made.outcome).toEqual({ kind: 'ok' });
      expect(made.artifacts).toEqual([]);
      for (const path of ['links/leaf', 'links/folder/passwd', 'links/fifo', 'links/sock', 'links/zero']) {
        await expect(session.files.read(path), path).rejects.toMatchObject({ code: 'bad_path' });
        await expect(session.files.write(path, 'x'), path).rejects.toMatchObject({ code: 'bad_path' });
      }
      await expect(session.files.list('links/folder')).rejects.toMatchObject({ code: 'bad_path' });
      await session.files.remove('links', { recursive: true });
    },
  },
];
