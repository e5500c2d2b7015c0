import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tokenOwner } from '../../src/directory/owner.ts';
import { type HotcellServer, openServer, type Session } from '../../src/main.ts';
import type { Sandbox } from '../../src/sandbox/driver.ts';
import type { Host } from '../../src/sandbox/host.ts';
import type { DriverName } from '../../src/sandbox/isolation.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { startLoopback } from '../support/loopback-servers.ts';
import { type Online, startOnline } from '../support/online.ts';
import { driverFactory, openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

/** The network of a session over its life: whichever sandbox it has, and whichever server. */

const { home, remove } = makeHome();
let servers: Online;
beforeAll(async () => {
  servers = await startOnline();
});
afterAll(() => {
  servers?.[Symbol.dispose]();
  remove();
});

const reach = () =>
  `import urllib.request\nprint(urllib.request.urlopen("http://web.test:${servers.ports.http}/", timeout=20).status)`;
const reached = async (session: Pick<Session, 'run'>) => (await session.run(reach())).stdout.trim();
const network = () => [`web.test:${servers.ports.http}`];

describe.each([TARGETS.shared, TARGETS.single, TARGETS.docker])(
  'in $name, the network of a session',
  async (target) => {
    const skipped = await reasonToSkip(target);

    test.skipIf(skipped !== undefined)(
      'is there again in a sandbox that replaces a lost one, and after a reset',
      async () => {
        const made: Sandbox[] = [];
        const factory = async (host: Host) => {
          const driver = await driverFactory(target)(host);
          return {
            ...driver,
            create: async (...given: Parameters<typeof driver.create>) => {
              const sandbox = await driver.create(...given);
              made.push(sandbox);
              return sandbox;
            },
          };
        };
        const drivers = { [target.options.isolation as DriverName]: factory };
        await using hotcell = await openTarget(target, { ...servers.options, dataDir: home, drivers });
        const session = await hotcell.open({ network: network() });
        const lose = async () => {
          const sleeping = session.run('import time; time.sleep(60)');
          await made.at(-1)?.dispose();
          expect((await sleeping).state).toBe('lost');
        };
        expect(await reached(session)).toBe('200');
        await lose();
        expect(await reached(session)).toBe('200');
        await session.network.set('none');
        await lose();
        expect(await session.run(reach())).toMatchObject({
          outcome: { kind: 'raised' },
          restarted: expect.any(String),
        });
        await session.network.set(network());
        await session.reset();
        expect(await reached(session)).toBe('200');
      },
    );

    test.skipIf(skipped !== undefined)(
      'is given to a sandbox of the pool when it is claimed, and to no other',
      async () => {
        await using hotcell = await openTarget(target, { ...servers.options, dataDir: home, poolSize: 1 });
        for (const asked of [network(), 'none' as const, network()]) {
          const session = await hotcell.open({ network: asked });
          expect(await reached(session)).toBe(asked === 'none' ? '' : '200');
          await session.close();
          await hotcell.settled();
        }
      },
    );

    test.skipIf(skipped !== undefined)('ends with the session, and its connections with it', async () => {
      const loopback = startLoopback();
      const accepted: Socket[] = [];
      const port = await loopback.tcp((socket) => void accepted.push(socket.resume()));
      await using hotcell = await openTarget(target, {
        ...servers.options,
        dataDir: home,
        network: [`web.test:${port}`],
      });
      const session = await hotcell.open({ network: [`web.test:${port}`] });
      const { outcome } = await session.run(
        `import os, socket\nhost, port = os.environ["HOTCELL_PROXY"].split(":")\nheld = socket.create_connection((host, int(port)))\nheld.sendall(b"CONNECT web.test:${port} HTTP/1.1\\r\\n\\r\\n")\nheld.recv(100)`,
      );
      expect(outcome).toEqual({ kind: 'ok' });
      expect(accepted).toHaveLength(1);
      const gone = new Promise((resolve) => accepted[0]!.once('close', resolve));
      await session.close();
      await gone;
      loopback.close();
    });
  },
);

describe('the network of a session that outlives its server', async () => {
  const skipped = await reasonToSkip(TARGETS.docker);
  const start = (options: object = {}): Promise<HotcellServer> =>
    openServer({
      ...{ dataDir: home, isolation: 'docker', poolSize: 0, preloads: [], logLevel: 'silent' },
      ...servers.options,
      ...options,
    });
  const open = async (server: HotcellServer) =>
    (await server.sessions.use(tokenOwner('ada', server.config), 'kept')).session;

  test.skipIf(skipped !== undefined)('is the same under the next one, as far as its ceiling allows it', async () => {
    const first = await start();
    const opened = await first.sessions.open(tokenOwner('ada', first.config), {
      ...{ id: 'kept', persistent: true, network: network() },
    });
    expect(await reached(opened.session)).toBe('200');
    await first.close();

    const second = await start();
    const taken = await open(second);
    expect(taken.network.setting()).toEqual(network());
    expect(await reached(taken)).toBe('200');
    const both = [...network(), `web.test:${servers.ports.echo}`];
    await taken.network.set(both);
    await second.close();

    const third = await start({ network: ['none'] });
    const sealed = await open(third);
    expect(sealed.network.setting()).toEqual(both);
    const refused = await sealed.run(`import os\nprint(os.environ.get("HTTPS_PROXY"))\n${reach()}`);
    expect(refused).toMatchObject({ outcome: { kind: 'raised' }, stdout: 'None\n' });
    await sealed.close();
    await third.close();
  });
});
