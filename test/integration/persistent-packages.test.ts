import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import type { ManagedSession } from '../../src/directory/directory.ts';
import { tokenOwner } from '../../src/directory/owner.ts';
import { killIfThere } from '../../src/lib/kill-if-there.ts';
import { type Hotcell, type HotcellServer, openServer } from '../../src/main.ts';
import { sessionStructured } from '../../src/mcp/present/session-output.ts';
import { packagesFolder } from '../../src/packages/open-installer.ts';
import { pruneStore } from '../../src/packages/store/prune.ts';
import { listLayers } from '../../src/packages/store/stored-layers.ts';
import { createFileRegistry } from '../../src/sessions/file-registry.ts';
import { until } from '../support/host-processes.ts';
import { containersOf, jailProcesses } from '../support/host-traces.ts';
import { packageHome } from '../support/package-home.ts';
import { type PackageIndex, startPackageIndex, wheel } from '../support/package-index.ts';
import { reasonToLeaveTo } from '../support/strength.ts';
import { openTarget, reasonToSkip, TARGETS, type Target } from '../support/targets.ts';

/** What a session has installed outlives its kernel, its sandbox and its server. */

const VERSIONS = 'import hc_one, hc_two; print(hc_one.version, hc_two.version)';
const servers = new Set<HotcellServer>();
afterEach(async () => {
  await Promise.all([...servers].map((server) => server.close()));
  servers.clear();
});

for (const target of [TARGETS.docker, TARGETS.gvisor]) {
  const skip = await reasonToLeaveTo(TARGETS.docker, target);

  describe.skipIf(skip !== undefined)(`a persistent session on ${target.name}`, () => {
    it('has its packages after a takeover, a reset and the loss of its sandbox, and the server knows them', {
      timeout: 300_000,
    }, async () => {
      await using index = await startPackageIndex();
      using data = await packageHome();
      const first = await start(target, data.home, index);
      const session = await first.sessions.open(ownerOf(first), { id: 'lab', persistent: true });
      await session.session.install(['hc-one==1.0']);
      await session.run('!pip install hc-two').result;
      const before = session.session.installations();
      expect(before.map(({ installed }) => installed)).toEqual([
        [{ name: 'hc-one', version: '1.0' }],
        [{ name: 'hc-two', version: '2.0' }],
      ]);
      await first.close();
      await pruneAll(data.home);

      const second = await start(target, data.home, index);
      const again = await second.sessions.use(ownerOf(second), 'lab');
      expect(again.session.installations()).toEqual(before);
      expect(sessionStructured(again)).toMatchObject({ packages: ['hc-one==1.0', 'hc-two==2.0'] });
      expect(await printed(again, VERSIONS)).toBe('1.0 2.0\n');
      await again.session.reset();
      expect(await printed(again, VERSIONS)).toBe('1.0 2.0\n');

      await lose(target, data.home, second.hotcell);
      expect((await again.run('1').result).restarted).toBeDefined();
      expect(await printed(again, VERSIONS)).toBe('1.0 2.0\n');
      expect(await again.session.install(['hc-two'])).toMatchObject({ installed: [], layers: [] });
      expect(await again.session.install(['hc-one>1'])).toMatchObject({
        superseded: [{ name: 'hc-one', from: '1.0', to: '1.1' }],
      });
      await again.session.reset();
      expect(await printed(again, VERSIONS)).toBe('1.1 2.0\n');
      await lose(target, data.home, second.hotcell);
      expect(await printed(again, VERSIONS)).toBe('1.1 2.0\n');
      expect(again.session.installations().map(({ installed }) => installed)).toEqual([
        ...before.map(({ installed }) => installed),
        [{ name: 'hc-one', version: '1.1' }],
      ]);
      await second.sessions.close(ownerOf(second), 'lab');
      await pruneAll(data.home);
      expect(await listLayers(packagesFolder(data.home))).toEqual([]);
    });
  });
}

const noProcess = await reasonToSkip(TARGETS.shared);

it.skipIf(noProcess !== undefined)(
  'a session of the process driver has its packages after a reset and the loss of its sandbox',
  {
    timeout: 300_000,
  },
  async () => {
    await using index = await startPackageIndex();
    using data = await packageHome();
    index.add(wheel({ name: 'hc-one' }), wheel({ name: 'hc-two', version: '2.0' }));
    await using hotcell = await openTarget(TARGETS.shared, { dataDir: data.home, registries: index.registries() });
    await using session = await hotcell.open();
    await session.install(['hc-one']);
    await session.run('!pip install hc-two');
    await session.reset();
    expect((await session.run(VERSIONS)).stdout).toBe('1.0 2.0\n');
    await lose(TARGETS.shared, data.home, hotcell);
    await session.run('1'); // tells of the loss, or finds it
    expect((await session.run(VERSIONS)).stdout).toBe('1.0 2.0\n');
    expect(session.installations().map(({ installed }) => installed[0]?.name)).toEqual(['hc-one', 'hc-two']);
  },
);

async function start(target: Target, dataDir: string, index: PackageIndex): Promise<HotcellServer> {
  index.add(
    ...['1.0', '1.1'].map((version) => wheel({ name: 'hc-one', version })),
    wheel({ name: 'hc-two', version: '2.0' }),
  );
  const server = await openServer({
    ...{ ...target.options, poolSize: 0, preloads: [], logLevel: 'silent' },
    ...{ dataDir, registries: index.registries() },
  });
  servers.add(server);
  return server;
}

/** A holder of a token who may install packages. */
function ownerOf({ config }: HotcellServer) {
  return { ...tokenOwner('ada', config), mayInstall: true };
}

async function printed(session: ManagedSession, code: string): Promise<string> {
  return (await session.run(code).result).stdout;
}

/** Removes every layer that no session has. */
async function pruneAll(dataDir: string): Promise<void> {
  const registry = createFileRegistry({ dataDir, runRoot: dataDir });
  await pruneStore(packagesFolder(dataDir), {
    limits: { ownerBytes: 0, bytes: 0 },
    serverId: 'test',
    isServerAlive: registry.isServerAlive,
    isSessionKept: registry.records.has,
  });
}

/** Kills what the only session runs in, from the host. */
async function lose(target: Target, home: string, hotcell: Hotcell): Promise<void> {
  await hotcell.settled(); // no builder is left
  if (target.slow !== true) return jailProcesses(home).forEach(killIfThere);
  const containers = containersOf(home).map((line) => line.replace('container ', ''));
  execFileSync('docker', ['kill', ...containers]);
  await until(() => containersOf(home).length === 0, 'it is gone');
}
