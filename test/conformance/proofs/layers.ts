import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Execution, ExecutionResult, Session } from '../../../src/index.ts';
import { consoleScript, type LayerTrees, layerTrees } from '../../support/layer-trees.ts';
import { type Context, type Requirement, stdoutOf } from '../context.ts';

const BARE = { bare: 'layers are shown by a driver' };
/** A package of every environment, which no other needs. */
const PRELOAD = 'tabulate';

/** Packages that come while a session lives. Hostile trees are `src/guest/layers/tree.test.ts`. */
export const layerRequirements: readonly Requirement[] = [
  {
    id: 'layers:live',
    tag: 'driver',
    title:
      'a layer appears in a live session: packages, .pth files, parts of namespaces, and a newer layer before an older',
    exempt: BARE,
    prove: ({ fresh }) =>
      withTrees(async (trees) => {
        const session = await fresh();
        expect(await session.run('before = 1\nimport lay_one')).toMatchObject({
          outcome: { name: 'ModuleNotFoundError' },
        });
        const first = trees.make({
          'python/lay_one/__init__.py': 'version = 1',
          'python/lay_space/one/__init__.py': 'name = __name__',
          'python/lay_more.pth': 'more\nimport sys; sys.lay_pth = True\n',
          'python/more/lay_by_pth.py': 'x = 5',
          'python/lay_one-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: lay-one\nVersion: 1.0\n',
        });
        expect(await session.addLayer(first)).toEqual({ superseded: [] });
        const uses = `import sys, importlib.metadata, lay_one, lay_by_pth, lay_space.one
print(before, lay_one.version, lay_one.__file__, lay_by_pth.x, sys.lay_pth, lay_space.one.name, importlib.metadata.version("lay-one"))`;
        expect(await stdoutOf(session, uses)).toBe(
          '1 1 /opt/hotcell/layers/0001/python/lay_one/__init__.py 5 True lay_space.one 1.0',
        );
        const second = trees.make({
          'python/lay_one/__init__.py': 'version = 2',
          'python/lay_two.py': 'x = 2',
          'python/lay_space/two/__init__.py': '',
          // The standard library comes first: no package replaces a part of it.
          'python/shelve.py': 'raise RuntimeError',
        });
        await session.addLayer(second);
        const later = `import lay_two, lay_space.two, shelve
print(lay_one.version, lay_two.x, "lay_space.one" in sys.modules, [entry[12:] for entry in sys.path if "layers" in entry])`;
        expect(await stdoutOf(session, later)).toBe(
          "1 2 True ['/layers/0002/python', '/layers/0001/python', '/layers/0001/python/more']",
        );
      }),
  },
  {
    id: 'layers:running',
    tag: 'driver',
    title: 'code that is running when a layer appears can import from it',
    exempt: BARE,
    prove: ({ fresh }) =>
      withTrees(async (trees) => {
        const session = await fresh();
        const waits = `import time
print("waits", flush=True)
while True:
    try:
        import lay_late
        break
    except ModuleNotFoundError:
        time.sleep(0.01)
print(lay_late.x)`;
        const running = session.run(waits, { timeoutMs: 30_000 });
        await firstOutput(running);
        await session.addLayer(trees.make({ 'python/lay_late.py': 'x = 1' }));
        expect((await running).stdout).toBe('waits\n1\n');
      }),
  },
  {
    id: 'layers:read-only',
    tag: 'driver',
    title: 'a session cannot write to, replace, remove, rename or change the mode of anything in a layer',
    exempt: BARE,
    prove: ({ fresh }) =>
      withTrees(async (trees) => {
        const tree = trees.make({ 'python/lay_kept.py': 'x = 1', 'bin/lay-tool': '#!/bin/sh\necho tool\n' });
        const session = await fresh();
        await session.addLayer(tree);
        const attempts = (root: string) => `import os
root = "${root}"
module = root + "/0001/python/lay_kept.py"
def write(path):
    with open(path, "w") as file:
        file.write("raise SystemExit")
attempts = {
    "write": lambda: write(module),
    "append": lambda: open(module, "a"),
    "truncate": lambda: os.truncate(module, 0),
    "through proc": lambda: os.open(f"/proc/self/fd/{os.open(module, os.O_RDONLY)}", os.O_WRONLY),
    "chmod": lambda: os.chmod(module, 0o777),
    "chmod of a folder": lambda: os.chmod(root, 0o777),
    "set-user-id": lambda: os.chmod(root + "/0001/bin/lay-tool", 0o4755),
    "chown": lambda: os.chown(module, os.getuid(), os.getgid()),
    "times": lambda: os.utime(module, (1, 1)),
    "attribute": lambda: os.setxattr(module, "user.x", b"1"),
    "add": lambda: write(root + "/0001/python/lay_new.py"),
    "add a layer": lambda: os.mkdir(root + "/0009"),
    "replace a program": lambda: os.symlink("/bin/true", root + "/bin/lay-other"),
    "hard link out": lambda: os.link(module, "/workspace/linked.py"),
    "hard link into tmp": lambda: os.link(module, "/tmp/linked.py"),
    "package for Node": lambda: os.mkdir("/node_modules/lay"),
    "rename": lambda: os.rename(module, root + "/0001/python/other.py"),
    "remove": lambda: os.unlink(root + "/0001/bin/lay-tool"),
    "rename of the layer": lambda: os.rename(root + "/0001", root + "/0009"),
    "replace the folder": lambda: os.rename(root, root + "-elsewhere"),
}
done = []
for name, attempt in attempts.items():
    try:
        attempt()
        done.append(name)
    except OSError:
        pass
print(done)`;
        const before = statesOf(tree);
        expect(await stdoutOf(session, attempts('/opt/hotcell/layers'))).toBe('[]');
        expect(statesOf(tree)).toEqual(before);
        expect(readFileSync(join(tree, 'python/lay_kept.py'), 'utf8')).toBe('x = 1');
        // Nothing but the mount stands in the way: a copy can be changed in all these ways, as far as the filter allows.
        await session.run('!cp -r /opt/hotcell/layers /workspace/copy');
        const done = await stdoutOf(session, attempts('/workspace/copy'));
        for (const name of [
          'write',
          'truncate',
          'through proc',
          'chmod',
          'times',
          'add',
          'hard link out',
          'rename',
          'remove',
        ])
          expect(done).toContain(`'${name}'`);
        expect(done).toContain("'replace the folder'");
      }),
  },
  {
    id: 'layers:neighbour',
    tag: 'driver',
    title: "a session sees its own layers, and neither sees nor lists a neighbour's",
    exempt: BARE,
    prove: ({ fresh }) =>
      withTrees(async (trees) => {
        const [one, other] = await Promise.all([fresh(), fresh({ mayInstall: false })]);
        await one.addLayer(trees.make({ 'python/lay_secret.py': 'x = 1' }));
        const look = `import os, re
found = []
for line in open("/proc/self/mountinfo"):
    found += re.findall(r"\\S*layers\\S*", line)
places = {"/opt/hotcell/layers", "/mnt/hotcell", "/mnt/hotcell/layers", "/node_modules", *found}
places |= {os.path.dirname(place) for place in places} | {os.path.dirname(os.path.dirname(place)) for place in places}
def everything(place):
    for folder, names, files in os.walk(place):
        if folder.startswith(("/proc", "/sys", "/usr")): continue
        yield from (os.path.join(folder, name) for name in (*names, *files))
print([path for place in sorted(places) if "layers" in place or "node_modules" in place or "hotcell" in place for path in everything(place)
       if "lay_secret" in path or re.search(r"layers/.*\\d{4}$", path)])
print(os.listdir("/opt/hotcell/layers"))`;
        const [theirs, listed] = (await stdoutOf(other, look)).split('\n');
        expect(theirs).toBe('[]');
        expect(listed === '[]' || listed === "['node_modules']").toBe(true);
        expect(await stdoutOf(one, look)).toContain('/opt/hotcell/layers/0001/python/lay_secret.py');
        expect(await other.run('import lay_secret')).toMatchObject({ outcome: { name: 'ModuleNotFoundError' } });
      }),
  },
  {
    id: 'layers:reset',
    tag: 'driver',
    title: 'layers survive a reset, and a package of a layer replaces a preloaded one with it',
    exempt: BARE,
    prove: (context) =>
      withTrees(async (trees) => {
        const session = await preloaded(context);
        const tree = trees.make({
          [`python/${PRELOAD}/__init__.py`]: '__version__ = "another"',
          'python/lay_reset.py': 'x = 1',
        });
        expect(await session.addLayer(tree)).toEqual({ superseded: [PRELOAD] });
        const version = `import lay_reset, ${PRELOAD}\nprint(${PRELOAD}.__version__)`;
        expect(await stdoutOf(session, version)).not.toBe('another');
        for (let resets = 0; resets < 2; resets += 1) {
          await session.reset();
          expect(await stdoutOf(session, version)).toBe('another');
        }
        // A kernel that was made in another way is a kernel all the same.
        const alike = `import os, subprocess, sys
print(os.getcwd(), sys.argv, os.cpu_count(), sys.flags.utf8_mode, sorted(map(int, os.listdir("/proc/self/fd")))[:4])
get_ipython().run_line_magic("pwd", "")`;
        const [, later] = [await stdoutOf(session, 'x = 3'), await session.run(alike)];
        expect(later.outcome).toEqual({ kind: 'ok' });
        expect(later.stdout).toMatch(/^\/workspace \[''\] \d+ 1 \[0, 1, 2, 3\]/);
        expect(await stdoutOf(session, 'print(x)')).toBe('3');
      }),
  },
  {
    id: 'layers:unused',
    tag: 'driver',
    title: 'a kernel that has run nothing uses a layer in place of its preloads at once',
    exempt: BARE,
    prove: (context) =>
      withTrees(async (trees) => {
        await preloaded(context); // the stage has its preloads by now
        const session = await context.fresh({ preloads: [PRELOAD] });
        const tree = trees.make({ [`python/${PRELOAD}/__init__.py`]: '__version__ = "another"' });
        expect(await session.addLayer(tree)).toEqual({ superseded: [] });
        expect(await stdoutOf(session, `import ${PRELOAD}\nprint(${PRELOAD}.__version__)`)).toBe('another');
      }),
  },
  {
    id: 'layers:children',
    tag: 'driver',
    title: 'every Python that a session starts has the layers: scripts, modules, isolated ones, spawned processes',
    exempt: BARE,
    prove: ({ fresh }) =>
      withTrees(async (trees) => {
        const session = await fresh();
        const tree = trees.make({
          'python/lay_child/__init__.py': 'def value(n): return n + 1',
          'python/lay_child/__main__.py': 'print("as a module")',
          'python/lay_child.pth': 'import sys; sys.lay_child = 1',
        });
        await session.addLayer(tree);
        const children = `import multiprocessing, os, subprocess, sys
import lay_child
def child(*arguments, **options):
    return subprocess.run([*arguments], capture_output=True, text=True, check=True, **options).stdout.strip()
code = "import sys, lay_child; print(lay_child.value(1), sys.lay_child)"
print(child(sys.executable, "-c", code))
print(child("python3", "-m", "lay_child"))
print(child(sys.executable, "-I", "-c", code))
print(child(sys.executable, "-c", code, env={}))
print(child(sys.executable, "-c", code, env={**os.environ, "PYTHONPATH": "/workspace"}))
print(child("bash", "-c", "PYTHONPATH=src python3 -c '" + code + "'"))
with multiprocessing.get_context("spawn").Pool(1) as pool:
    print(pool.map(lay_child.value, [1, 2]))`;
        expect((await stdoutOf(session, children, 60_000)).split('\n')).toEqual([
          '2 1',
          'as a module',
          ...Array(4).fill('2 1'),
          '[2, 3]',
        ]);
      }),
  },
  {
    id: 'layers:programs',
    tag: 'driver',
    title: "programs of a layer are on the PATH of shells that run already, with the sandbox's interpreter",
    exempt: BARE,
    prove: ({ fresh }) =>
      withTrees(async (trees) => {
        const session = await fresh();
        await session.run('export KEPT=1', { language: 'bash' });
        const script = consoleScript('lay_tool', 'main');
        const first = trees.make({
          'python/lay_tool.py': 'import sys\ndef main(): print("one", sys.executable)',
          'bin/lay-tool': script,
          'bin/python3': '#!/bin/sh\necho not this one\n',
        });
        await session.addLayer(first);
        const python = await stdoutOf(session, 'import sys\nprint(sys.executable)');
        const ran = await session.run('echo $KEPT; lay-tool; python3 -c "print(2)"', { language: 'bash' });
        expect(ran.stdout).toMatch(/^1\none \S+\/python3?[\d.]*\n2\n$/);
        expect(ran.stdout.split(' ')[1]).toContain(python.slice(0, python.lastIndexOf('/')));
        expect((await session.run('!lay-tool')).stdout).toMatch(/^one/);
        expect((await session.command(['lay-tool'])).stdout).toMatch(/^one/);
        await session.addLayer(
          trees.make({ 'python/lay_tool.py': 'def main(): print("two")', 'bin/lay-tool': script }),
        );
        expect((await session.run('lay-tool', { language: 'bash' })).stdout).toBe('two\n');
      }),
  },
  {
    id: 'layers:node',
    tag: 'driver',
    title: 'packages for Node are found by import and require, in the kernel and in programs of any folder',
    exempt: BARE,
    prove: ({ fresh }) =>
      withTrees(async (trees) => {
        const session = await fresh();
        const js = async (code: string): Promise<ExecutionResult> => session.run(code, { language: 'javascript' });
        const missing = await js("try { require('lay-one') } catch (error) { error.code }");
        expect(missing.value?.text).toContain('MODULE_NOT_FOUND');
        await js("await import('lay-esm').catch(() => {})");
        await session.addLayer(
          trees.make({
            'node_modules/lay-one/package.json': '{"name":"lay-one","main":"main.js"}',
            'node_modules/lay-one/main.js': "module.exports = 'one with ' + require('lay-needed')",
            'node_modules/lay-needed/index.js': "module.exports = 'what it needs'",
            'node_modules/lay-esm/package.json': '{"name":"lay-esm","type":"module","exports":"./main.js"}',
            'node_modules/lay-esm/main.js': "import needed from 'lay-needed'; export default 'esm with ' + needed",
            'node_modules/@lay/scoped/index.js': "module.exports = 'scoped'",
            'node_modules/.bin/lay-node': "#!/usr/bin/env node\nconsole.log('a program')",
          }),
        );
        const both = "[require('lay-one'), (await import('lay-esm')).default, require('@lay/scoped')].join()";
        const all = 'one with what it needs,esm with what it needs,scoped';
        const used = await js(both);
        expect(used.value?.text).toContain(all);
        expect(used.stderr).toBe('');
        await session.files.write(
          'uses.mjs',
          "import { createRequire } from 'node:module'\nimport esm from 'lay-esm'\nimport one from 'lay-one'\nimport scoped from '@lay/scoped'\nconsole.log([one, esm, scoped].join())",
        );
        await session.files.write('uses.cjs', `(async () => console.log(${both}))()`);
        const ran = await session.run(
          'cp uses.* /tmp; for folder in /workspace /tmp; do for file in mjs cjs; do node $folder/uses.$file; done; done; lay-node',
          { language: 'bash' },
        );
        expect(ran.stdout).toBe(`${`${all}\n`.repeat(4)}a program\n`);
        await session.addLayer(trees.make({ 'node_modules/lay-two/index.js': "module.exports = 'two'" }));
        expect((await js("[require('lay-two'), require('lay-one')].join()")).value?.text).toContain('two,one');
      }),
  },
];

async function withTrees(prove: (trees: LayerTrees) => Promise<void>): Promise<void> {
  using trees = layerTrees();
  await prove(trees);
}

/** A session whose kernel was forked with the preload. */
async function preloaded({ fresh }: Pick<Context, 'fresh'>): Promise<Session> {
  for (let opened = 0; opened < 20; opened += 1) {
    const session = await fresh({ preloads: [PRELOAD] });
    for (let reset = 0; reset < 10; reset += 1) {
      if ((await stdoutOf(session, `import sys; print("${PRELOAD}" in sys.modules)`)) === 'True') return session;
      await session.reset();
    }
  }
  throw new Error('no kernel came from the stage with the preloads');
}

async function firstOutput(running: Execution): Promise<void> {
  for await (const event of running) if (event.kind === 'stdout') return;
}

function statesOf(tree: string): unknown[] {
  return ['python', 'python/lay_kept.py', 'bin/lay-tool'].map((path) => {
    const { mode, uid, gid, mtimeMs, size } = lstatSync(join(tree, path));
    return { mode, uid, gid, mtimeMs, size };
  });
}
