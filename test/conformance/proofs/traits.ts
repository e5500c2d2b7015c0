import { expect } from 'vitest';
import { resolveDataDir, resolveRunDir } from '../../../src/config/load.ts';
import { standardImageTag } from '../../../src/drivers/docker/image.ts';
import { DRIVERS } from '../../../src/drivers/registry.ts';
import { openLiveSandbox } from '../../../src/guest/live-sandbox.ts';
import type { Session } from '../../../src/index.ts';
import { newId } from '../../../src/lib/ids.ts';
import type { Driver } from '../../../src/sandbox/driver.ts';
import { DEFAULT_LIMITS, type SandboxSpec } from '../../../src/sandbox/spec.ts';
import { createFileRegistry } from '../../../src/sessions/file-registry.ts';
import { becomeServer } from '../../../src/sessions/server.ts';
import { driverFactory, type Target } from '../../support/targets.ts';
import { type Requirement, stdoutOf } from '../context.ts';
import { withFolders } from './mounts.ts';

const START_MS = 60_000;
/** Where the C library lies in memory. It differs between processes that were started, and is the same in forks of one. */
const LAYOUT = 'import ctypes; print(ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p).value)';

/** A driver is what its traits say, in both directions. Callers decide by them. */
export const traitRequirements: readonly Requirement[] = [
  {
    id: 'traits:declared',
    tag: 'driver',
    title:
      'a driver has the traits, and its sandboxes a level, that its line of the registry declares before it is loaded',
    exempt: { bare: 'it is not registered' },
    prove: ({ target, session, hotcell }) =>
      withDriver(target, async ({ name, traits }) => {
        expect(traits).toEqual(DRIVERS[name].traits);
        const { isolation } = await session.run('1');
        expect(DRIVERS[name].levels).toContain(isolation.level);
        // A sandbox, the probe and what a server says of itself agree.
        expect((await hotcell.isolation()).level).toBe(isolation.level);
        expect(await hotcell.probe(name)).toMatchObject([
          { available: true, isolation: { driver: name, level: isolation.level } },
        ]);
      }),
  },
  {
    id: 'traits:images',
    tag: 'driver',
    title: 'a driver with images opens the image that is named and no other; one without refuses every image',
    prove: ({ target, hotcell, fresh }) =>
      withDriver(target, async ({ traits }) => {
        const missing = hotcell.open({ image: 'hotcell/no-such-image:0' });
        if (!traits.images) {
          await expect(missing).rejects.toMatchObject({
            code: 'invalid_argument',
            remedy: expect.stringMatching(/docker/),
          });
          return;
        }
        await expect(missing).rejects.toMatchObject({ message: expect.stringContaining('no-such-image') });
        expect(await stdoutOf(await fresh({ image: standardImageTag() }), 'print(6 * 7)')).toBe('42');
      }),
  },
  {
    id: 'traits:mounts',
    tag: 'driver',
    title: 'a driver with mounts shows the folder inside; one without refuses every mount',
    prove: ({ target }) =>
      withDriver(target, ({ traits }) =>
        withFolders(target, async ({ hotcell, folder }) => {
          const opening = hotcell.open({ mounts: [{ source: await folder('data', 'file'), target: '/data' }] });
          if (!traits.mounts) return expect(opening).rejects.toMatchObject({ code: 'invalid_argument' });
          expect(await stdoutOf(await opening, 'import os; print(*os.listdir("/data"))')).toBe('file');
        }),
      ),
  },
  {
    id: 'traits:persistence',
    tag: 'driver',
    title: 'a driver with persistence takes over a sandbox that was left; one without has no way to leave or adopt one',
    prove: ({ target }) =>
      withDriver(target, async (driver) => {
        const alone = { interruptAfterMs: 60_000, endAfterMs: 60_000 };
        const { persistence } = driver.traits;
        const spec = persistence ? { ...plainSpec(), persistent: alone } : plainSpec();
        const first = await openLiveSandbox(driver, spec, START_MS);
        expect([driver.adopt !== undefined, first.sandbox.leave !== undefined]).toEqual([persistence, persistence]);
        await first.leave();
        if (!persistence) {
          expect(await first.sandbox.ended).toMatchObject({ kind: 'disposed' });
          return;
        }
        const adopted = await openLiveSandbox(driver, spec, START_MS, { adopt: true });
        expect(adopted.sandbox.id).toBe(spec.id);
        await adopted.dispose();
        await expect(openLiveSandbox(driver, spec, START_MS, { adopt: true })).rejects.toMatchObject({
          code: 'sandbox_lost',
        });
      }),
  },
  {
    id: 'traits:sharing',
    tag: 'driver',
    title: 'sandboxes have memory in common only where their owner is the same and the driver says that it shares',
    prove: ({ target, fresh }) =>
      withDriver(target, async ({ traits: { sharesWithinOwner } }) => {
        const sessions = await Promise.all(['ada', 'ada', 'bob'].map((owner) => fresh({ owner })));
        const [one, same, other] = await Promise.all(sessions.map((session) => stdoutOf(session, LAYOUT)));
        expect(other).not.toBe(one);
        if (!sharesWithinOwner) expect(same).not.toBe(one);
        // A shape that shares shows that the layout tells.
        if ((await shapeOf(sessions[0]!)) === 'shared') expect(same).toBe(one);
      }),
  },
  {
    id: 'traits:descriptors',
    tag: 'driver',
    title: 'an open file goes from one sandbox to another through a common folder exactly where the driver says so',
    exempt: { bare: 'it has no mounts, and no barrier between sandboxes' },
    prove: ({ target }) =>
      withDriver(target, ({ traits }) =>
        withFolders(target, async ({ hotcell, folder }) => {
          const source = await folder('common', 'file');
          const open = () => hotcell.open({ mounts: [{ source, target: '/common', readOnly: false }] });
          const [giver, taker] = [await open(), await open()];
          const give = `import os, socket, threading
listener = socket.socket(socket.AF_UNIX)
try:
    listener.bind("/common/socket"); os.chmod("/common/socket", 0o777); listener.listen()
    threading.Thread(target=lambda: socket.send_fds(listener.accept()[0], [b"x"], [os.open("/workspace", os.O_RDONLY)]), daemon=True).start()
except OSError: pass
open("/workspace/own", "w").close()`;
          await stdoutOf(giver, give);
          const take = `import os, socket
near = socket.socket(socket.AF_UNIX)
try:
    near.connect("/common/socket")
    print(os.listdir(socket.recv_fds(near, 1, 1)[1][0]))
except OSError: print("nothing")`;
          expect(await stdoutOf(taker, take)).toBe(traits.passesDescriptors ? "['own']" : 'nothing');
        }),
      ),
  },
];

/** The target's driver itself, beside the one that its Hotcell has. */
async function withDriver(target: Target, prove: (driver: Driver) => Promise<void>): Promise<void> {
  const dataDir = resolveDataDir();
  const folders = { dataDir, runRoot: resolveRunDir(dataDir) };
  const server = await becomeServer(folders, createFileRegistry(folders));
  try {
    const driver = await driverFactory(target)(server.host);
    try {
      await prove(driver);
    } finally {
      await driver.close();
    }
  } finally {
    await server.release();
  }
}

function plainSpec(): SandboxSpec {
  return { id: newId('s'), owner: 'ada', limits: DEFAULT_LIMITS, mounts: [], preloads: [], environment: {} };
}

async function shapeOf(session: Session): Promise<string> {
  return (await session.run('1')).isolation.shape;
}
