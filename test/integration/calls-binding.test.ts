import { afterAll, describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/driver.ts';
import type { Host } from '../../src/sandbox/host.ts';
import type { DriverName } from '../../src/sandbox/isolation.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { driverFactory, openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';
import { createTestMethods } from '../support/test-methods.ts';

/** To whom the calls of a sandbox belong, from its claim to its end. */

const CLIENT = 'import json, os\nfrom hotcell_guest.wire.calling import call\n';
const WHO = `${CLIENT}print(json.dumps([call("who"), os.environ.get("WHOSE")]))`;
const { home, remove } = makeHome();
afterAll(remove);

describe.each([TARGETS.single, TARGETS.docker])('calls in $name', async (target) => {
  const skipped = await reasonToSkip(target);

  test.skipIf(skipped !== undefined)(
    'of a sandbox that was made ahead are those of the session that claims it',
    async () => {
      const { methods } = createTestMethods();
      await using hotcell = await openTarget(target, { methods, poolSize: 1, dataDir: home });
      for (const owner of ['local', 'anna', 'bert']) {
        const session = await hotcell.open({ owner, environment: { WHOSE: owner } });
        const [caller, variable] = JSON.parse((await session.run(WHO)).stdout) as [object, string];
        expect(caller).toMatchObject({ owner, session: session.uniqueId });
        expect(variable).toBe(owner);
        await session.close();
        await hotcell.settled(); // the next sandbox is ready
      }
    },
  );

  test.skipIf(skipped !== undefined)(
    'end with the sandbox and with the session; the next sandbox is bound again',
    async () => {
      const tests = createTestMethods();
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
      await using hotcell = await openTarget(target, { methods: tests.methods, dataDir: home, drivers });
      const session = await hotcell.open();
      const lost = session.run(`${CLIENT}call("gate", {"name": "lost"})`);
      await tests.gate('lost').entered.promise;
      await made.at(-1)?.dispose();
      expect(await tests.gate('lost').ended.promise).toBe('channel-lost');
      expect(await lost).toMatchObject({ state: 'lost' });
      const [caller] = JSON.parse((await session.run(WHO)).stdout) as [object];
      expect(caller).toMatchObject({ session: session.uniqueId });
      const closed = session.run(`${CLIENT}call("gate", {"name": "closed"})`);
      closed.then(undefined, () => {});
      await tests.gate('closed').entered.promise;
      await session.close();
      expect(await tests.gate('closed').ended.promise).toBe('session-closed');
      expect(tests.waiting()).toBe(0);
    },
  );
});
