import { expect, test } from 'vitest';
import { makeHome } from '../support/child-hotcell.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';
import { createTestMethods } from '../support/test-methods.ts';

const CLIENT = 'from hotcell_guest.wire.calling import call\n';

test.each([TARGETS.single, TARGETS.docker])(
  'calls of a sandbox that was made ahead are those of the session that claimed it: $name',
  async (target) => {
    if ((await reasonToSkip(target)) !== undefined) return;
    const { home, remove } = makeHome();
    const { methods } = createTestMethods();
    const hotcell = await openTarget(target, { methods, poolSize: 1, dataDir: home });
    try {
      const owners = [];
      for (const owner of ['local', 'anna', 'bert']) {
        const session = await hotcell.open({ owner, environment: { WHOSE: owner } });
        const { stdout } = await session.run(
          `${CLIENT}import json, os\nprint(json.dumps([call("who"), os.environ["WHOSE"]]))`,
        );
        const [caller, variable] = JSON.parse(stdout) as [{ owner: string; session: string }, string];
        expect(caller).toMatchObject({ owner, session: session.uniqueId });
        owners.push(variable);
        await session.close();
        await hotcell.settled(); // the next sandbox is ready
      }
      expect(owners).toEqual(['local', 'anna', 'bert']);
    } finally {
      await hotcell.close();
      remove();
    }
  },
);
