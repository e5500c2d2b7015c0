import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hotcell } from '../../src/main.ts';
import { buildOnce } from '../support/built-program.ts';
import { type ChildHotcell, makeHome, startChild } from '../support/child-hotcell.ts';
import { until } from '../support/host-processes.ts';
import { added, containersOf, expectTraces, filesBelow, hostTraces, jailProcesses } from '../support/host-traces.ts';
import { onlyWithAll, reasonToLeaveTo, strength } from '../support/strength.ts';
import { openTarget, reasonToSkip, TARGETS, type Target } from '../support/targets.ts';

interface Cycles {
  readonly target: Target;
  readonly count: number;
  /** How many sessions are open at once. */
  readonly width: number;
}

const CYCLES: readonly Cycles[] = [
  { target: TARGETS.shared, count: strength({ plain: 32, all: 1_000 }), width: 4 },
  { target: TARGETS.docker, count: strength({ plain: 8, all: 100 }), width: 4 },
  { target: TARGETS.gvisor, count: strength({ plain: 8, all: 20 }), width: 4 },
];

const skipReasons = new Map<Target, string | undefined>();
for (const { target } of CYCLES) skipReasons.set(target, await reasonToSkip(target));
// It has the containers of docker, which Hotcell makes and removes in the same way.
skipReasons.set(TARGETS.gvisor, await reasonToLeaveTo(TARGETS.docker, TARGETS.gvisor));

const { home, remove } = makeHome();
const given = process.env.HOTCELL_HOME;

beforeAll(() => {
  process.env.HOTCELL_HOME = home;
  buildOnce();
});

afterAll(() => {
  if (given === undefined) delete process.env.HOTCELL_HOME;
  else process.env.HOTCELL_HOME = given;
  remove();
});

describe.each(CYCLES)('$target.name', ({ target, count, width }) => {
  const containers = target.slow === true;

  const reason = skipReasons.get(target);
  it.skipIf(reason !== undefined)(
    `leaves nothing after ${count} sessions were opened, used and closed${reason === undefined ? '' : ` (${reason})`}`,
    async () => {
      await cycle(target, width, width); // what is loaded once stays
      const before = hostTraces(home, { containers });
      const hotcell = await openTarget(target);
      for (let round = 0; round < 2; round += 1) {
        await cycles(hotcell, width, width);
        await hotcell.settled();
      }
      const serving = hostTraces(home, { containers });
      await cycles(hotcell, count - width, width);
      await hotcell.settled();
      const then = hostTraces(home, { containers });
      expect(steady(then.own)).toEqual(steady(serving.own));
      // The engine's idle connections come and go.
      expect(added(serving.descriptors, then.descriptors).filter((target) => target !== 'socket')).toEqual([]);
      await hotcell.close();
      await expectTraces(home, before, { containers });
    },
  );
});

interface Crash {
  readonly state: string;
  readonly options?: { poolSize?: number };
  /** Brings the server into that state; it is killed when this resolves. */
  readonly reach: (server: ChildHotcell) => Promise<void>;
}

const PRINT_AND_FORK = `import os, time
print("x" * 1_000_000)
os.fork()
if os.fork() == 0: os.setsid()
time.sleep(60)`;

const CRASHES: readonly Crash[] = [
  { state: 'just opened', reach: async () => {} },
  { state: 'beginning to open a session', reach: (server) => server.begin('open', 's') },
  {
    state: 'half way through opening a session',
    reach: async (server) => {
      const before = parts().length;
      await server.begin('open', 's');
      await until(() => parts().length > before, 'a part of the sandbox is there');
    },
  },
  { state: 'with an idle session', reach: (server) => server.open('s') },
  {
    state: 'in the middle of an execution',
    reach: async (server) => {
      await server.open('s');
      await server.begin('run', 's', PRINT_AND_FORK);
      await until(() => filesBelow(join(home, 'logs')).some((name) => name.endsWith('.log')), 'it has a log');
    },
  },
  {
    state: 'with a filled pool',
    options: { poolSize: 2 },
    reach: async (server) => {
      await server.open('s');
      await server.settled();
    },
  },
  {
    state: 'while closing',
    reach: async (server) => {
      await server.open('s');
      await server.begin('close');
    },
  },
];

/** States in which containers are left in another way than jails, which end by themselves. The others differ in what the server had begun, the same for both. */
const OF_CONTAINERS = ['half way through opening a session', 'in the middle of an execution', 'with a filled pool'];
const leftToJails = skipReasons.get(TARGETS.shared) === undefined ? onlyWithAll('tried with jails') : undefined;

/** A jail's processes, or a container. */
const parts = () => [
  ...jailProcesses(home),
  ...(skipReasons.get(TARGETS.docker) === undefined ? containersOf(home) : []),
];

describe.each([TARGETS.shared, TARGETS.docker])('a server of $name that is killed', (target: Target) => {
  const containers = target.slow === true;
  const isolation = target.options.isolation!;
  let neighbour: Hotcell;

  describe.skipIf(skipReasons.get(target) !== undefined)('leaves what the next start clears, and nothing else:', () => {
    beforeAll(async () => {
      neighbour = await openTarget(target);
    });
    afterAll(async () => {
      await neighbour?.close();
    });

    it.for(CRASHES)('$state', async ({ state, options, reach }, context) => {
      if (containers && leftToJails !== undefined && !OF_CONTAINERS.includes(state)) context.skip(leftToJails);
      await using kept = await neighbour.open();
      await kept.run('kept = 41');
      await neighbour.settled();
      const before = hostTraces(home, { containers });
      const others = new Set(jailProcesses(home));

      const server = await startChild(home, { isolation, ...options });
      await reach(server).finally(() => server.kill());
      if (!containers) {
        await until(() => jailProcesses(home).every((pid) => others.has(pid)), 'its sandboxes are gone by themselves');
      }

      const next = await openTarget(target);
      await (await next.open()).close();
      await next.close();
      await expectTraces(home, before, { containers });
      expect((await kept.run('kept + 1')).value?.text).toBe('42');
    });
  });
});

describe.each([TARGETS.shared, TARGETS.docker])('$name, closed while sessions are being opened,', (target) => {
  const reason = skipReasons.get(target);
  it.skipIf(reason !== undefined)(`leaves nothing${reason === undefined ? '' : ` (${reason})`}`, async () => {
    const containers = (target as Target).slow === true;
    const before = hostTraces(home, { containers });
    const hotcell = await openTarget(target);
    const openings = Promise.allSettled([0, 1, 2].map(() => hotcell.open()));
    await hotcell.close();
    for (const opening of await openings) {
      if (opening.status === 'rejected') expect(opening.reason).toMatchObject({ code: 'session_closed' });
      else await expect(opening.value.run('1').then(() => {})).rejects.toMatchObject({ code: 'session_closed' });
    }
    await expectTraces(home, before, { containers });
  });
});

/** Without what changes while a server serves: the numbers of the one fork that is kept ahead. */
function steady(traces: readonly string[]): string[] {
  return traces.map((trace) => trace.replace(/^process \d+/, 'process').replace(/g-[0-9a-f]{20}/, 'group')).sort();
}

async function cycle(target: Target, count: number, width: number): Promise<void> {
  await using hotcell = await openTarget(target);
  await cycles(hotcell, count, width);
}

async function cycles(hotcell: Hotcell, count: number, width: number): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) {
      await using session = await hotcell.open();
      expect((await session.run('1 + 1')).value?.text).toBe('2');
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
}
