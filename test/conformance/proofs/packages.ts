import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Hotcell, Session } from '../../../src/index.ts';
import { type NodePackage, type NpmRegistry, startNpmRegistry } from '../../support/npm-registry.ts';
import { packageHome } from '../../support/package-home.ts';
import {
  type IndexOptions,
  type PackageIndex,
  sourceWithScript,
  startPackageIndex,
  wheel,
} from '../../support/package-index.ts';
import { openTarget } from '../../support/targets.ts';
import { type Context, type Requirement, stdoutOf } from '../context.ts';

const BARE = { bare: 'packages are built in a sandbox of the driver' };

/** Packages that are installed while a session lives, from an index of the test's own. */
export const packageRequirements: readonly Requirement[] = [
  {
    id: 'packages:install',
    tag: 'driver',
    title:
      'a sealed session gets packages with all that they need: in its kernel, in subprocesses, as commands, and the next session at once',
    exempt: BARE,
    prove: (context) =>
      withIndex(context, async ({ hotcell, index }) => {
        index.add(
          wheel({ name: 'hc-top', requires: ['hc-below>=2'], scripts: { 'hc-top': 'hc_top:main' } }),
          ...['1.0', '2.0', '2.1'].map((version) => wheel({ name: 'hc-below', version })),
        );
        await using session = await hotcell.open();
        await session.run('before = 1');
        const done = await session.install(['hc-top']);
        expect(done).toMatchObject({
          installed: [
            { name: 'hc-below', version: '2.1' },
            { name: 'hc-top', version: '1.0' },
          ],
          superseded: [],
          reused: false,
        });
        expect(await stdoutOf(session, 'import hc_top, hc_below; print(before, hc_below.version)')).toBe('1 2.1');
        const python = 'import hc_below; print(hc_below.version)';
        expect((await session.command(['python3', '-c', python])).stdout).toBe('2.1\n');
        expect((await session.command('hc-top')).stdout).toBe('hc-top 1.0\n');
        expect(await canReach(session, index)).toBe('False');

        const asked = index.requests.length;
        await using second = await hotcell.open();
        expect(await second.install(['hc-top'])).toMatchObject({ reused: true, installed: done.installed });
        expect(await stdoutOf(second, python)).toBe('2.1');
        expect(index.requests.length).toBe(asked);
        expect(second.installations()).toHaveLength(1);
      }),
  },
  {
    id: 'packages:builder',
    tag: 'driver',
    title:
      'a build script runs where nothing of the session is, reaches the index and nothing else, and leaves nothing but its package',
    exempt: BARE,
    prove: (context) =>
      withIndex(context, async ({ hotcell, index }) => {
        const other = await startPackageIndex();
        await using _ = other;
        index.add(sourceWithScript('hc-hostile', spying(index, other)));
        await using session = await hotcell.open({ environment: { HC_SECRET: 'of the session' } });
        await session.files.write('secret.txt', 'of the session');
        await session.install(['hc-hostile']);
        const seen = JSON.parse(await stdoutOf(session, 'import hc_hostile; print(hc_hostile.seen)')) as Seen;
        expect(seen).toEqual({ secret: false, files: [], index: true, other: false, outside: false });
        expect(other.requests).toEqual([]);
        expect(await stdoutOf(session, 'import os; print(sorted(os.listdir("/workspace")))')).toBe("['secret.txt']");
      }),
  },
  {
    id: 'packages:login',
    tag: 'driver',
    title: 'a build script can read with the login of the host to an index, and publish nothing with it',
    exempt: BARE,
    prove: (context) =>
      withIndex(
        context,
        async ({ hotcell, index }) => {
          index.add(sourceWithScript('hc-worm', PUBLISHING));
          await using session = await hotcell.open();
          await session.install(['hc-worm']);
          expect(await stdoutOf(session, 'import hc_worm; print(hc_worm.seen)')).toBe('[200, 400]');
          expect(index.requests.filter((request) => request.includes('upload'))).toEqual([]);
          expect(index.refused).toEqual([]);
        },
        { login: { username: 'robot', password: 'correct-horse-battery' } },
      ),
  },
  {
    id: 'packages:workspace',
    tag: 'driver',
    title: 'a folder of the workspace is built without a network, and what it needs is installed with it',
    exempt: BARE,
    prove: (context) =>
      withIndex(context, async ({ hotcell, index }) => {
        index.add(wheel({ name: 'hc-needed' }));
        await using session = await hotcell.open();
        await writeProject(session, index);
        const done = await session.install(['./project']);
        expect(done.installed).toEqual([
          { name: 'hc-needed', version: '1.0' },
          { name: 'hc-own', version: '0.5' },
        ]);
        expect(await stdoutOf(session, 'import hc_own, hc_needed; print(hc_own.reached)')).toBe('False');
        expect(index.requests.filter((path) => path.includes('stolen'))).toEqual([]);
      }),
  },
  {
    id: 'packages:npm',
    tag: 'driver',
    title:
      'packages of npm are found by import and require, with what they need and their programs, and their scripts run in a builder alone',
    exempt: BARE,
    prove: async ({ target }) => {
      await using registry = await startNpmRegistry();
      await using index = await startPackageIndex();
      using data = await packageHome();
      const registries = index.registries({}, { registry: { url: registry.url } });
      await using hotcell = await openTarget(target, { dataDir: data.home, registries });
      const touched = join(data.home, 'touched');
      registry.add(
        { name: 'hc-below', version: '1.0.0' },
        { name: 'hc-below', version: '2.1.0' },
        { name: 'hc-inside' },
        spyingNode(registry, index, touched),
        {
          name: 'hc-top',
          manifest: { dependencies: { 'hc-below': '^1', 'hc-scripted': '*' }, bin: { 'hc-top': 'program.js' } },
          files: {
            'index.js': "module.exports = require('hc-below').version;",
            'program.js': "#!/usr/bin/env node\nconsole.log('program', require('hc-below').version);",
          },
        },
      );
      await using session = await hotcell.open({ environment: { HC_SECRET: 'of the session' } });
      await session.files.write('secret.txt', 'of the session');
      const done = await session.install(['hc-top'], { manager: 'npm' });
      expect(done.installed).toEqual(
        expect.arrayContaining([
          { name: 'hc-top', version: '1.0.0' },
          { name: 'hc-below', version: '1.0.0' },
        ]),
      );
      const both = "[require('hc-top'), (await import('hc-top')).default].join()";
      expect((await session.run(both, { language: 'javascript' })).value?.text).toBe("'1.0.0,1.0.0'");
      await session.files.write('own/main.mjs', "import top from 'hc-top'; console.log(top);");
      expect((await session.command(['node', 'own/main.mjs'])).stdout).toBe('1.0.0\n');
      expect((await session.command('hc-top')).stdout).toBe('program 1.0.0\n');

      const seen = await session.run("JSON.stringify(require('hc-scripted'))", { language: 'javascript' });
      expect(JSON.parse(seen.value?.text.slice(1, -1) ?? '')).toEqual({
        ...{ secret: false, files: false, registry: true, other: false },
      });
      expect(existsSync(touched)).toBe(false);
      expect(index.requests).toEqual([]);

      const inside = await session.command('npm install hc-inside', { timeoutMs: 120_000 });
      expect(inside).toMatchObject({
        outcome: { kind: 'ok' },
        stdout: 'added 1 package\n+ hc-inside@1.0.0\n',
      });
      expect((await session.command('npm ls')).stdout).toMatch(/^[├└]── hc-inside@1\.0\.0$/m);
      const used = await session.run("require('hc-inside').version", { language: 'javascript' });
      expect(used.value?.text).toBe("'1.0.0'");
      expect(session.installations()).toHaveLength(2);
    },
  },
];

interface Seen {
  readonly secret: boolean;
  readonly files: readonly string[];
  readonly index: boolean;
  readonly other: boolean;
  readonly outside: boolean;
}

async function withIndex(
  { target }: Context,
  work: (given: { hotcell: Hotcell; index: PackageIndex }) => Promise<void>,
  options: IndexOptions = {},
): Promise<void> {
  await using index = await startPackageIndex(options);
  using data = await packageHome();
  await using hotcell = await openTarget(target, { dataDir: data.home, registries: index.registries() });
  await work({ hotcell, index });
}

function canReach(session: Session, { port }: PackageIndex): Promise<string> {
  return stdoutOf(session, `${REACHES}print(reaches("http://127.0.0.1:${port}/simple/"))`);
}

/** Through the proxy of the sandbox if it has one, as programs do. */
const REACHES = `
import os, urllib.request, urllib.error
def reaches(url):
    proxy = os.environ.get("http_proxy")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy} if proxy else {}))
    try:
        opener.open(url, timeout=5).read()
        return True
    except urllib.error.HTTPError as error:
        return error.code not in (403, 502, 504)
    except OSError:
        return False
`;

/** A script that reads its own page with the login, and tries to upload a package with it. */
const PUBLISHING = `
import os, urllib.request, urllib.error
base = next(value for name, value in os.environ.items() if name.startswith("HOTCELL_SERVICE_REGISTRY"))
def status(path, data=None):
    try:
        return urllib.request.urlopen(urllib.request.Request(base + path, data=data), timeout=5).status
    except urllib.error.HTTPError as error:
        return error.code
globals()["_seen"] = [status("/simple/hc-worm/"), status("/legacy/upload", b"package")]
`;

/** A script that puts what it can see into the package that it makes. */
function spying(index: PackageIndex, other: PackageIndex): string {
  return `
import json, os
exec(${JSON.stringify(REACHES)}, globals())
found = []
for top, folders, names in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(top, name) not in ("/proc", "/sys", "/usr", "/opt", "/lib", "/var/lib")]
    found += [os.path.join(top, name) for name in names if name == "secret.txt"]
try:
    open("/opt/hotcell/evil", "w")
    outside = True
except OSError:
    outside = False
seen = {
    "secret": "of the session" in repr(os.environ),
    "files": found,
    "index": reaches("${index.url}hc-hostile/"),
    "other": reaches("${other.url}"),
    "outside": outside,
}
globals()["_seen"] = json.dumps(seen)
`;
}

/** A package whose script puts what it can see into the package, and writes to a path of the host. */
function spyingNode({ url }: NpmRegistry, { url: other }: PackageIndex, touched: string): NodePackage {
  const script = `
const { existsSync, writeFileSync } = require('node:fs');
const { execFileSync } = require('node:child_process');
const reaches = (url) => {
  try {
    return execFileSync('python3', ['-c', ${JSON.stringify(`${REACHES}import sys; print(reaches(sys.argv[1]))`)}, url], { encoding: 'utf8' }).trim() === 'True';
  } catch {
    return false;
  }
};
try {
  writeFileSync(${JSON.stringify(touched)}, '');
} catch {}
const seen = {
  secret: JSON.stringify(process.env).includes('of the session'),
  files: existsSync('/workspace/secret.txt'),
  registry: reaches('${url}hc-below'),
  other: reaches('${other}'),
};
writeFileSync('index.js', 'module.exports = ' + JSON.stringify(seen));
`;
  return {
    name: 'hc-scripted',
    manifest: { scripts: { postinstall: 'node script.js' } },
    files: { 'index.js': "module.exports = 'no script ran'", 'script.js': script },
  };
}

/** A project whose backend is in itself, and tries to tell somebody. */
async function writeProject(session: Session, index: PackageIndex): Promise<void> {
  const backend = `
import os, zipfile
${REACHES}
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    reached = reaches("${index.url}stolen-data/")
    name = "hc_own-0.5-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as out:
        out.writestr("hc_own.py", f"reached = {reached}")
        out.writestr("hc_own-0.5.dist-info/METADATA", "Metadata-Version: 2.1\\nName: hc-own\\nVersion: 0.5\\nRequires-Dist: hc-needed\\n")
        out.writestr("hc_own-0.5.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        out.writestr("hc_own-0.5.dist-info/RECORD", "")
    return name
`;
  await session.files.write('project/backend.py', backend);
  await session.files.write(
    'project/pyproject.toml',
    '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
  );
}
