import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeHome } from '../support/child-hotcell.ts';
import { pathsBelow } from '../support/folders.ts';
import { layerTrees } from '../support/layer-trees.ts';
import { reasonNoOtherUsers, runAs, STRANGER } from '../support/other-user.ts';
import { packageHome } from '../support/package-home.ts';
import { startPackageIndex, wheel } from '../support/package-index.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

// Root's sandboxes read their packages as another user, so the modes of these files keep no user out: a folder above them must.
const noOthers = reasonNoOtherUsers();
const PATIENT = { timeout: 180_000 };
const SECRET = 'a private package';

/** Files and folders of the data folder that every user may read: programs that sandboxes run, and nothing of a session. */
const PUBLIC = ['bin', 'covers', 'etc', 'guest', 'python'];

/** Prints the paths that this user can open: those on stdin, those below the data folder in arguments of any process, and all that is below these. */
const OPEN_ALL = `
const { closeSync, openSync, readdirSync, readFileSync } = require('node:fs');
const [dataDir] = process.argv.slice(1);
const attempt = (act) => { try { return act(); } catch { return undefined; } };
const below = (path) => [path, ...(attempt(() => readdirSync(path)) ?? []).flatMap((name) => below(path + '/' + name))];
const processes = readdirSync('/proc').filter((name) => /^\\d+$/.test(name) && Number(name) !== process.pid);
const named = processes
  .flatMap((pid) => (attempt(() => readFileSync('/proc/' + pid + '/cmdline', 'utf8')) ?? '').split('\\0'))
  .filter((argument) => argument.startsWith(dataDir + '/'));
const opened = (paths) => [...new Set(paths.flatMap(below))].filter((path) => attempt(() => (closeSync(openSync(path, 'r')), true)));
console.log(JSON.stringify({ named, seen: opened(named), told: opened(JSON.parse(readFileSync(0, 'utf8'))) }));
`;

interface Opened {
  /** Paths below the data folder that the arguments of processes name. */
  readonly named: readonly string[];
  /** What can be opened of these, and below them. */
  readonly seen: readonly string[];
  /** What can be opened of all paths of packages. */
  readonly told: readonly string[];
}

const packagePaths = (home: string) => ['layers', 'packages'].flatMap((name) => pathsBelow(join(home, name)));

async function openAsStranger(home: string): Promise<Opened> {
  const { code, stdout, stderr } = await runAs(STRANGER, ['-e', OPEN_ALL, home], {
    input: JSON.stringify(packagePaths(home)),
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const opened: Opened = JSON.parse(stdout);
  return { ...opened, seen: opened.seen.filter((path) => !isPublic(path.slice(home.length + 1))) };
}

const isPublic = (path: string) => PUBLIC.includes(path.split('/')[0] as string);

for (const target of [TARGETS.shared, TARGETS.single, TARGETS.soft, TARGETS.docker, TARGETS.gvisor] as const) {
  const skip = noOthers ?? (await reasonToSkip(target));

  describe.skipIf(skip !== undefined)(`packages of a session on ${target.name}, and other users of the machine`, () => {
    const { home, remove } = makeHome();
    const trees = layerTrees();
    afterAll(() => {
      trees[Symbol.dispose]();
      remove();
    });

    it('are read by the session, and not by a user who knows every path, nor by one who reads all arguments', async () => {
      await using hotcell = await openTarget(target, { dataDir: home });
      await using session = await hotcell.open();
      await session.addLayer(trees.make({ 'python/lay_private.py': `x = '${SECRET}'` }));
      expect((await session.run('import lay_private; print(lay_private.x)')).stdout).toBe(`${SECRET}\n`);
      expect(packagePaths(home).some((path) => path.endsWith('/lay_private.py'))).toBe(true);
      const { named, seen, told } = await openAsStranger(home);
      expect({ seen, told }).toEqual({ seen: [], told: [] });
      if (target.options.isolation === 'process')
        expect(named.some((path) => path.startsWith(`${home}/layers/`))).toBe(true);

      chmodSync(join(home, 'layers'), 0o711); // the barrier off
      const off = await openAsStranger(home);
      expect(off.told.some((path) => path.endsWith('/lay_private.py'))).toBe(true);
      // In the arguments of a shared jail is the folder of all its sessions, which cannot be listed.
      expect(off.seen.some((path) => path.endsWith('/lay_private.py'))).toBe(target === TARGETS.single);
    });

    it('are closed to others again by the next server, if an earlier one has left their folder open', async () => {
      chmodSync(join(home, 'layers'), 0o711);
      await using hotcell = await openTarget(target, { dataDir: home });
      await using session = await hotcell.open();
      await session.addLayer(trees.make({ 'python/lay_later.py': '' }));
      expect(statSync(join(home, 'layers')).mode & 0o007).toBe(0);
    });
  });
}

const skipStore = noOthers ?? (await reasonToSkip(TARGETS.shared));

describe.skipIf(skipStore !== undefined)('the store of packages, and other users of the machine', () => {
  let data: Awaited<ReturnType<typeof packageHome>>;
  beforeAll(async () => {
    data = await packageHome();
  });
  afterAll(() => data?.[Symbol.dispose]());

  it('is closed to a user who knows every path in it', PATIENT, async () => {
    await using index = await startPackageIndex();
    index.add(wheel({ name: 'hc-private' }));
    await using hotcell = await openTarget(TARGETS.shared, { dataDir: data.home, registries: index.registries() });
    await using session = await hotcell.open();
    await session.install(['hc-private']);
    const stored = packagePaths(data.home).filter((path) => path.startsWith(`${data.home}/packages/`));
    expect(stored.some((path) => path.includes('hc_private'))).toBe(true);
    const { seen, told } = await openAsStranger(data.home);
    expect({ seen, told }).toEqual({ seen: [], told: [] });
  });
});
