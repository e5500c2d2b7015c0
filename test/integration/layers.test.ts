import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenOwner } from '../../src/directory/owner.ts';
import { containerName } from '../../src/drivers/docker/container-config.ts';
import { createEngineConnector } from '../../src/drivers/docker/engine.ts';
import { createDockerDriver } from '../../src/drivers/docker/index.ts';
import { createGvisorDriver } from '../../src/drivers/gvisor/index.ts';
import { killIfThere } from '../../src/lib/kill-if-there.ts';
import { type HotcellServer, openServer, type Session } from '../../src/main.ts';
import type { Host } from '../../src/sandbox/host.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { craftedImages } from '../support/crafted-image.ts';
import { filesBelow, jailProcesses } from '../support/host-traces.ts';
import { consoleScript, layerTrees } from '../support/layer-trees.ts';
import { refusingEngine } from '../support/refusing-engine.ts';
import { reasonToLeaveTo } from '../support/strength.ts';
import { openTarget, reasonToSkip, TARGETS, type Target } from '../support/targets.ts';

const trees = layerTrees();
const { home, remove } = makeHome();
const layers = () => filesBelow(join(home, 'layers')).filter((path) => path !== 'layers/kept');

const ONE = trees.make({
  'python/lay_one/__init__.py': 'def main(): print("one")',
  'bin/lay-one': consoleScript('lay_one', 'main'),
  'node_modules/lay-node/index.js': "module.exports = 'node'",
});
const TWO = trees.make({ 'python/lay_two.py': 'import lay_one\nx = 2' });

afterAll(() => {
  trees[Symbol.dispose]();
  remove();
});

for (const target of [TARGETS.shared, TARGETS.single, TARGETS.docker, TARGETS.gvisor] as const) {
  const skip = await reasonToSkip(target);

  describe.skipIf(skip !== undefined)(`the layers of a session on ${target.name}`, () => {
    it('are in the folder of that session alone, and gone with it', async () => {
      await using hotcell = await openTarget(target, { dataDir: home });
      const session = await hotcell.open();
      await session.addLayer(ONE);
      await using _neighbour = await hotcell.open();
      const present = () => layers().filter((path) => path.endsWith('/0001/python/lay_one'));
      expect(present()).toHaveLength(1);
      await session.close();
      await hotcell.settled();
      expect(present()).toEqual([]);
      await hotcell.close();
      expect(layers()).toEqual([]);
    });

    it('do not keep a close waiting for the removal of their files, and are gone with the server', async () => {
      await using hotcell = await openTarget(target, { dataDir: home });
      const large = trees.make(
        Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`python/lay_large/m${index}.py`, 'x = 1'])),
      );
      const session = await hotcell.open();
      await session.addLayer(large);
      await session.close();
      const files = () => layers().filter((path) => path.includes('/lay_large/')).length;
      expect(files()).toBeGreaterThan(0);
      await hotcell.close();
      expect(layers()).toEqual([]);
    });

    it('that are refused leave the session as it was', async () => {
      await using hotcell = await openTarget(target, { dataDir: home });
      const session = await hotcell.open();
      const hostile = trees.make({ 'python/lay_hostile.py': 'x = 1' });
      execFileSync('ln', ['-s', '/etc/shadow', join(hostile, 'python/z')]);
      await expect(session.addLayer(hostile)).rejects.toMatchObject({ code: 'package_refused' });
      expect((await session.run('import lay_hostile')).outcome).toMatchObject({ name: 'ModuleNotFoundError' });
      await session.addLayer(ONE);
      expect((await session.run('import lay_one\nlay_one.__file__')).value?.text).toContain('/0001/');
    });

    it('come again, in order, into the sandbox that replaces a lost one', async () => {
      await using hotcell = await openTarget(target, { dataDir: home });
      const session = await hotcell.open();
      await session.addLayer(ONE);
      await session.addLayer(TWO);
      const running = session.run('import lay_two, time\nprint(lay_two.x, flush=True)\ntime.sleep(60)');
      for await (const event of running) if (event.kind === 'stdout') break;
      loseSandbox(session, target);
      expect((await running).outcome).toMatchObject({ kind: 'sandbox-lost' });
      const again = await session.run('import lay_two\nprint(lay_two.x, lay_two.__file__)');
      expect(again.stdout).toBe('2 /opt/hotcell/layers/0002/python/lay_two.py\n');
    });
  });
}

for (const target of [TARGETS.docker, TARGETS.gvisor]) {
  const skip = await reasonToLeaveTo(TARGETS.docker, target);
  const { isolation } = target.options;
  const make = isolation === 'gvisor' ? createGvisorDriver : createDockerDriver;

  describe.skipIf(skip !== undefined)(`layers on ${target.name}`, () => {
    it('are there for the next server of a persistent session, which adds more, and go with the session', async () => {
      const start = () => openServer({ dataDir: home, isolation, poolSize: 0, preloads: [], logLevel: 'silent' });
      const owner = (server: HotcellServer) => tokenOwner('ada', server.config);
      const first = await start();
      const session = await first.sessions.open(owner(first), { id: 'lab', persistent: true });
      await session.session.addLayer(ONE);
      await first.close();
      expect(layers().some((path) => path.startsWith('layers/kept/') && path.endsWith('0001/python/lay_one'))).toBe(
        true,
      );
      await using second = await start();
      const again = await second.sessions.use(owner(second), 'lab');
      await again.session.addLayer(TWO);
      const used = await again.run('import lay_two\nprint(lay_two.__file__, lay_two.lay_one.__file__)').result;
      expect(used.stdout).toMatch(/0002\/python\/lay_two.py .*0001\/python\/lay_one/);
      await second.sessions.close(owner(second), 'lab');
      await second.close();
      expect(layers()).toEqual([]);
    });

    it('are there in a container of the pool', async () => {
      await using hotcell = await openTarget(target, { dataDir: home, poolSize: 1 });
      await (await hotcell.open()).close();
      await hotcell.settled();
      const session = await hotcell.open();
      await session.addLayer(ONE);
      expect((await session.run('import lay_one\nlay_one.main()')).stdout).toBe('one\n');
      await hotcell.close();
      expect(layers()).toEqual([]);
    });

    it('are sent over the channel to an engine on another machine, and doctor says so', async () => {
      // An address without a socket: the driver takes the engine for a remote one.
      const engine = () => createEngineConnector(isolation, { shown: 'tcp://elsewhere' });
      const drivers = { [isolation]: async (host: Host) => make(host, { engine: engine() }) };
      await using hotcell = await openTarget(target, { dataDir: home, drivers });
      await expectSentLayers(await hotcell.open());
      const [probe] = await hotcell.probe(isolation);
      expect(probe).toMatchObject({
        available: true,
        notes: expect.arrayContaining([expect.stringMatching(/are sent/)]),
      });
      expect(layers()).toEqual([]);
    });
  });
}

const noDocker = await reasonToSkip(TARGETS.docker);

describe.skipIf(noDocker !== undefined)('an engine that cannot bind folders of this machine', () => {
  it('is asked once, and gets layers over the channel from then on', async () => {
    const refusing = refusingEngine();
    const drivers = { docker: async (host: Host) => createDockerDriver(host, { engine: refusing.connector }) };
    await using hotcell = await openTarget(TARGETS.docker, { dataDir: home, drivers });
    await expectSentLayers(await hotcell.open());
    await expectSentLayers(await hotcell.open());
    expect(refusing.refused()).toBe(1);
    await hotcell.close();
    expect(layers()).toEqual([]);
  });
});

describe.skipIf(noDocker !== undefined)('an image that knows nothing of layers', () => {
  const images = craftedImages();
  let image: string;
  beforeAll(() => {
    image = images.build('layers', [
      'RUN rm /opt/hotcell/python/lib/python3*/site-packages/hotcell-layers.pth',
      `RUN mkdir -p /node_modules/own && echo "module.exports = 'own'" > /node_modules/own/index.js`,
    ]);
  });
  afterAll(() => images.remove());

  it('has them in its kernels and in Pythons that they start, and keeps its own packages for Node', async () => {
    await using hotcell = await openTarget(TARGETS.docker, { dataDir: home });
    const session = await hotcell.open({ image });
    await session.addLayer(ONE);
    const child = '!lay-one\n!python3 -c "import lay_one; lay_one.main()"\nimport lay_one\nlay_one.main()';
    expect((await session.run(child)).stdout).toBe('one\none\none\n');
    const own = await session.run("require('own')", { language: 'javascript' });
    expect(own.value?.text).toBe("'own'");
  });
});

/** Kills what the session runs in, from the host. */
function loseSandbox(session: Session, target: Target): void {
  if (target.slow === true) execFileSync('docker', ['kill', containerName(session.uniqueId)]);
  else for (const pid of jailProcesses(home)) killIfThere(pid);
}

async function expectSentLayers(session: Session): Promise<void> {
  expect(await session.addLayer(ONE)).toEqual({ superseded: [] });
  await session.addLayer(TWO);
  const python =
    'import lay_two\nlay_two.lay_one.main()\n!lay-one\n!python3 -c "import lay_two; print(lay_two.__file__)"';
  expect((await session.run(python)).stdout).toBe('one\none\n/opt/hotcell/layers/0002/python/lay_two.py\n');
  const node = await session.run("[require('lay-node'), (await import('lay-node')).default].join()", {
    language: 'javascript',
  });
  expect(node.value?.text).toBe("'node,node'");
  expect(existsSync('/opt/hotcell/layers')).toBe(false);
}
