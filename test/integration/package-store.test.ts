import { existsSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { packagesFolder } from '../../src/packages/open-installer.ts';
import { OWNER_FOLDER_NAME, type OwnerFolder, ownerFolderAt } from '../../src/packages/store/owner-folder.ts';
import { listLayers } from '../../src/packages/store/stored-layers.ts';
import { layersRoot } from '../../src/sandbox/layers.ts';
import { startChild } from '../support/child-hotcell.ts';
import { packageHome } from '../support/package-home.ts';
import { type PackageIndex, startPackageIndex, wheel } from '../support/package-index.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

/** The store of installed packages, with servers that die, race and run out of space. It is the same for every driver, so one proves it. */

const target = TARGETS.shared;
const skip = await reasonToSkip(target);
const PATIENT = { timeout: 180_000 };
const SETTLES = { timeout: 30_000, interval: 20 };

let index: PackageIndex;
beforeAll(async () => {
  index = await startPackageIndex();
});
afterAll(() => index[Symbol.asyncDispose]());

describe.skipIf(skip !== undefined)('the store of packages', () => {
  test('shows no half of a layer whose server was killed, and the next server cleans up', PATIENT, async () => {
    using data = await packageHome();
    const files = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`hc_many/m${at}.py`, `x = ${at}`]));
    index.add(wheel({ name: 'hc-few' }), wheel({ name: 'hc-many', files: { ...files, 'hc_many/__init__.py': '' } }));
    const child = await startChild(data.home, { isolation: 'process' }, index.variables());
    await child.open('a');
    await child.install('a', ['hc-few']);
    const { making, uses, layers } = onlyOwner(data.home);
    const [deadServer] = readdirSync(uses)[0]!.split('-');
    await begins(making, () => void child.begin('install', 'a', ['hc-many']).catch(() => {}));
    await child.kill();
    expect(readdirSync(making)).toHaveLength(1); // killed in the middle, indeed
    expect(await namesIn(data.home)).toEqual(['hc-few']);
    expect(readdirSync(layers)).toHaveLength(1);

    await using hotcell = await openTarget(target, { dataDir: data.home, registries: index.registries() });
    await using session = await hotcell.open();
    expect(await session.install(['hc-many'])).toMatchObject({ reused: false });
    expect((await session.run('import hc_many.m1999 as m; print(m.x)')).stdout).toBe('1999\n');
    await vi.waitFor(() => {
      expect(readdirSync(making)).toEqual([]);
      expect(readdirSync(uses).filter((name) => name.startsWith(deadServer!))).toEqual([]);
    }, SETTLES);
    expect(await namesIn(data.home)).toEqual(['hc-few', 'hc-many']);
    await vi.waitFor(() => expect(existsSync(join(layersRoot(data.home), deadServer!))).toBe(false), SETTLES);
  });

  test('has one layer of what two servers install at once, and both sessions have it', PATIENT, async () => {
    using data = await packageHome();
    index.add(wheel({ name: 'hc-raced', requires: ['hc-raced-needs'] }), wheel({ name: 'hc-raced-needs' }));
    const start = () => startChild(data.home, { isolation: 'process' }, index.variables());
    const servers = await Promise.all([start(), start()]);
    await Promise.all(servers.map((server) => server.open('a')));
    const done = await Promise.all(servers.map((server) => server.install('a', ['hc-raced'])));
    expect(done.map(({ installed }) => installed.length)).toEqual([2, 2]);
    for (const server of servers) {
      await server.run('a', 'import hc_raced, hc_raced_needs');
      expect(await server.run('a', 'hc_raced_needs.version')).toMatchObject({ outcome: 'ok', value: "'1.0'" });
    }
    expect(await listLayers(packagesFolder(data.home))).toMatchObject([{ isInUse: true }]);
    expect(readdirSync(onlyOwner(data.home).making)).toEqual([]);
    await Promise.all(servers.map((server) => server.stop()));
    expect(readdirSync(onlyOwner(data.home).uses)).toEqual([]);
  });

  test(
    'keeps its bound: what was used least recently goes first, and never what a live session has',
    PATIENT,
    async () => {
      using data = await packageHome();
      const content = 'x'.repeat(300_000);
      for (const one of 'abcde') {
        const module = `hc_${one}`;
        index.add(wheel({ name: `hc-${one}`, files: { [`${module}.py`]: `size = len("${content}")` } }));
      }
      const limits = { packageBytesPerOwner: 1_000_000 };
      const options = { dataDir: data.home, registries: index.registries(), ...limits };
      await using hotcell = await openTarget(target, options);
      const useOnce = async (name: string) => {
        await using session = await hotcell.open();
        return await session.install([name]);
      };
      await using live = await hotcell.open();
      await live.install(['hc-a']);
      await useOnce('hc-b');
      await useOnce('hc-c');
      expect(await useOnce('hc-b')).toMatchObject({ reused: true });
      await useOnce('hc-d');
      await vi.waitFor(async () => expect(await namesIn(data.home)).toEqual(['hc-a', 'hc-b', 'hc-d']), SETTLES);
      await useOnce('hc-e');
      await vi.waitFor(async () => expect(await namesIn(data.home)).toEqual(['hc-a', 'hc-d', 'hc-e']), SETTLES);
      expect((await live.run('import hc_a; print(hc_a.size)')).stdout).toBe('300000\n');
      expect(await useOnce('hc-c')).toMatchObject({ reused: false });
    },
  );
});

async function namesIn(home: string): Promise<string[]> {
  return (await listLayers(packagesFolder(home))).flatMap(({ packages }) => packages.map(({ name }) => name)).sort();
}

function onlyOwner(home: string): OwnerFolder {
  const [name] = readdirSync(packagesFolder(home)).filter((one) => OWNER_FOLDER_NAME.test(one));
  return ownerFolderAt(join(packagesFolder(home), name!));
}

/** Resolves when something appears in a folder because of `work`. */
async function begins(folder: string, work: () => void): Promise<void> {
  await new Promise<void>((resolve) => {
    const watching = watch(folder, () => {
      watching.close();
      resolve();
    });
    work();
  });
}
